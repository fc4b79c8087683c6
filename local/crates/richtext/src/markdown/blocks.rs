//! Finds where a Markdown text may be cut into blocks that mean the same apart.
//!
//! Each line is judged once, when it is complete, by what came before it; so the cuts do not depend on how the text
//! arrived. Where it is not certain that a block ends, it goes on: that costs time, not correctness.

/// Longer blocks are cut at a line end, in bytes, so that a word more never costs more than this.
const MAX_BLOCK: usize = 32 * 1024;

/// Where to cut around a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cut {
    /// Whether a block ends before it.
    pub(super) before: bool,
    /// Whether a block ends with it.
    pub(super) after: bool,
}

/// What the lines so far say about the block that is open.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    fence: Option<Fence>,
    bytes: usize,
    in_list: bool,
    after_blank: bool,
}

impl Blocks {
    /// Takes in the next complete line, without its end.
    pub(super) fn line(&mut self, line: &str) -> Cut {
        let mut cut = self.judge(line);
        if cut.before {
            self.bytes = 0;
        }
        self.bytes += line.len() + 1;
        if self.bytes >= MAX_BLOCK {
            cut.after = true;
        }
        if cut.after {
            let fence = self.fence.take();
            *self = Self {
                fence,
                ..Self::default()
            };
        }
        cut
    }

    /// Gives the line that opened the code block in which the text is now.
    pub(super) fn open_fence(&self) -> Option<&str> {
        self.fence.as_ref().map(|fence| fence.opening.as_str())
    }

    fn judge(&mut self, line: &str) -> Cut {
        let body = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - body.len()];
        let indent = if indent.contains('\t') { 4 } else { indent.len() };
        if let Some(fence) = &self.fence {
            let closed = indent < 4 && fence.is_closed_by(body);
            if closed {
                self.fence = None;
            }
            return Cut {
                before: false,
                after: closed,
            };
        }
        if body.is_empty() {
            self.after_blank = true;
            return Cut::default();
        }
        let is_item = indent < 4 && begins_item(body);
        let before = self.after_blank && indent == 0 && !(self.in_list && is_item);
        self.after_blank = false;
        self.in_list = is_item || (self.in_list && !before);
        let is_heading = indent == 0 && begins_heading(body);
        // Indented under a list, it would belong to an item and end with it.
        if indent == 0 || (indent < 4 && !self.in_list) {
            self.fence = Fence::opened_by(line, body);
        }
        if is_heading || self.fence.is_some() {
            self.in_list = false;
        }
        Cut {
            before,
            after: is_heading,
        }
    }
}

/// An open code block.
#[derive(Debug)]
struct Fence {
    mark: char,
    length: usize,
    opening: String,
}

impl Fence {
    fn opened_by(line: &str, body: &str) -> Option<Self> {
        let mark = body.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = body.trim_start_matches(mark);
        let length = body.len() - info.len();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        Some(Self {
            mark,
            length,
            opening: line.to_owned(),
        })
    }

    fn is_closed_by(&self, body: &str) -> bool {
        let rest = body.trim_start_matches(self.mark);
        body.len() - rest.len() >= self.length && rest.trim_matches([' ', '\t']).is_empty()
    }
}

fn begins_item(body: &str) -> bool {
    let after_marker = body.strip_prefix(['-', '*', '+']).or_else(|| {
        let rest = body.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = body.len() - rest.len();
        rest.strip_prefix(['.', ')'])
            .filter(|_| (1..=9).contains(&digits))
    });
    after_marker.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn begins_heading(body: &str) -> bool {
    let rest = body.trim_start_matches('#');
    (1..=6).contains(&(body.len() - rest.len())) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows the text with `‖` at each cut.
    fn cuts(text: &str) -> String {
        let mut blocks = Blocks::default();
        let mut shown = String::new();
        for line in text.lines() {
            let cut = blocks.line(line);
            shown.push_str(if cut.before { "‖" } else { "" });
            shown.push_str(line);
            shown.push_str(if cut.after { "‖" } else { "" });
            shown.push('/');
        }
        shown
    }

    #[test]
    fn blocks_are_cut_where_they_mean_the_same_apart() {
        for (text, expected) in [
            ("a\nb\n\nc", "a/b//‖c/"),
            ("# h\na", "# h‖/a/"),
            ("- a\n\n- b\n\n  more\n\nend", "- a//- b//  more//‖end/"),
            ("1. a\n\n2. b\n\n- c", "1. a//2. b//- c/"),
            ("```rs\na\n\n# b\n```\nc", "```rs/a//# b/```‖/c/"),
            ("~~~~\n~~~\n~~~~\nc", "~~~~/~~~/~~~~‖/c/"),
            ("- a\n  ```\n\nb", "- a/  ```//‖b/"),
            ("- a\n```\n\nb\n```", "- a/```//b/```‖/"),
            ("    code\n\n    code", "    code//    code/"),
            ("``` a`b\n\nc", "``` a`b//‖c/"),
            ("#no\n\n-no\n\n1.no", "#no//‖-no//‖1.no/"),
        ] {
            assert_eq!(cuts(text), expected, "{text:?}");
        }
    }
}
