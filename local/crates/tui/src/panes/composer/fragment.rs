//! A text in which a large paste is one character.

use std::{ops::Range, sync::Arc};

use super::paste::{self, Paste};

/// Stands for a paste. Control characters cannot get into a composer in another way, and nothing joins them to their
/// neighbours (UAX 29, rules GB4 and GB5), so a paste is one character to every movement and deletion.
pub(super) const MARK: char = '\u{1a}';

/// Text with pastes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fragment {
    text: String,
    /// The pastes, each with the offset of its mark, in order.
    pastes: Vec<(usize, Arc<Paste>)>,
}

impl Fragment {
    /// Takes a text of which only line breaks, tabs and what is no control character is kept.
    pub(super) fn plain(text: &str) -> Self {
        Self {
            text: paste::clean(text),
            pastes: Vec::new(),
        }
    }

    /// Makes a text that is one paste.
    pub(super) fn paste(paste: Paste) -> Self {
        Self {
            text: MARK.to_string(),
            pastes: vec![(0, Arc::new(paste))],
        }
    }

    /// Gives the text, with a [`MARK`] for each paste.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Gives the paste whose mark stands at `at`.
    pub(super) fn paste_at(&self, at: usize) -> Option<&Paste> {
        let found = self.pastes.binary_search_by_key(&at, |(at, _)| *at).ok()?;
        Some(&self.pastes[found].1)
    }

    /// Puts `with` in the place of `range` and gives what was there.
    pub(super) fn splice(&mut self, range: Range<usize>, with: &Self) -> Self {
        let text = self.text[range.clone()].to_owned();
        let first = self.pastes.partition_point(|(at, _)| *at < range.start);
        let last = self.pastes.partition_point(|(at, _)| *at < range.end);
        let new = with
            .pastes
            .iter()
            .map(|(at, paste)| (at + range.start, Arc::clone(paste)));
        let pastes = self
            .pastes
            .splice(first..last, new)
            .map(|(at, paste)| (at - range.start, paste))
            .collect();
        for (at, _) in &mut self.pastes[first + with.pastes.len()..] {
            *at = *at - range.len() + with.text.len();
        }
        self.text.replace_range(range, &with.text);
        Self { text, pastes }
    }

    /// Puts `more` behind this.
    pub(super) fn append(&mut self, more: &Self) {
        let end = self.len();
        drop(self.splice(end..end, more));
    }

    /// Gives the text with every paste in its place.
    pub(super) fn expanded(&self) -> String {
        let mut out = String::with_capacity(self.expanded_len());
        let mut from = 0;
        for (at, paste) in &self.pastes {
            out.push_str(&self.text[from..*at]);
            out.push_str(paste.text());
            from = at + MARK.len_utf8();
        }
        out.push_str(&self.text[from..]);
        out
    }

    /// Gives the bytes of the text with every paste in its place.
    pub(super) fn expanded_len(&self) -> usize {
        let pasted: usize = self.pastes.iter().map(|(_, paste)| paste.text().len()).sum();
        self.text.len() + pasted - self.pastes.len() * MARK.len_utf8()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Fragment {
        let mut text = Fragment::plain("ab");
        let paste = Fragment::paste(Paste::new(1, "one\ntwo".to_owned()));
        assert!(text.splice(1..1, &paste).is_empty());
        text
    }

    #[test]
    fn a_paste_is_one_character_and_comes_out_whole() {
        let text = sample();
        assert_eq!(text.as_str(), "a\u{1a}b");
        assert_eq!(text.expanded(), "aone\ntwob");
        assert_eq!(text.expanded_len(), text.expanded().len());
        assert!(text.paste_at(1).is_some() && text.paste_at(0).is_none());
    }

    #[test]
    fn what_is_cut_out_goes_back_in() {
        let mut text = sample();
        let whole = text.clone();
        let cut = text.splice(1..3, &Fragment::plain("xyz"));
        assert_eq!(text.expanded(), "axyz");
        assert_eq!(cut.expanded(), "one\ntwob");
        let middle = text.splice(1..4, &cut);
        assert_eq!(middle.expanded(), "xyz");
        assert_eq!(text, whole);
        text.splice(0..0, &Fragment::plain("before"));
        assert!(text.paste_at(7).is_some(), "a mark moves with its text");
    }

    #[test]
    fn a_mark_cannot_be_typed() {
        assert_eq!(Fragment::plain("a\u{1a}b\u{7}\u{9b}c").as_str(), "abc");
    }
}
