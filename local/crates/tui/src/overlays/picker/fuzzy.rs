//! Finding rows by a few letters.

/// How well a text fits, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fit {
    /// The higher the better.
    pub(crate) score: i32,
    /// Offsets of the characters that were looked for, in order.
    pub(crate) at: Vec<usize>,
}

/// Whole words are worth more than letters that stand apart, however near those are.
const TOGETHER: i32 = 1_000;
/// What begins a word.
const WORD_START: i32 = 100;
/// The most that a late place or a wide spread costs.
const WORST: usize = 90;

/// Tells whether every word of the pattern is in the text, as it is or with other letters between.
///
/// Capitals do not count. An empty pattern fits everything equally.
pub(crate) fn fit(pattern: &str, text: &str) -> Option<Fit> {
    let folded: Vec<(usize, char)> = text.char_indices().map(|(at, char)| (at, fold(char))).collect();
    let mut fit = Fit {
        score: 0,
        at: Vec::new(),
    };
    for word in pattern.split_whitespace() {
        let word: Vec<char> = word.chars().map(fold).collect();
        let (score, places) = together(&word, &folded).or_else(|| apart(&word, &folded))?;
        fit.score += score;
        fit.at.extend(places.into_iter().map(|place| folded[place].0));
    }
    fit.at.sort_unstable();
    fit.at.dedup();
    Some(fit)
}

fn fold(char: char) -> char {
    char.to_lowercase().next().unwrap_or(char)
}

/// Finds the word as it is, where it begins a word if it does anywhere.
fn together(word: &[char], text: &[(usize, char)]) -> Option<(i32, Vec<usize>)> {
    let places = text
        .windows(word.len())
        .enumerate()
        .filter(|(_, window)| window.iter().map(|(_, char)| char).eq(word))
        .map(|(start, _)| (begins_word(text, start), start));
    let (begins, start) = places.max_by_key(|(begins, start)| (*begins, std::cmp::Reverse(*start)))?;
    let score = TOGETHER + i32::from(begins) * WORD_START - cost(start);
    Some((score, (start..start + word.len()).collect()))
}

/// Finds the letters in their order, the last of them as early as possible and the others as near to it as possible.
fn apart(word: &[char], text: &[(usize, char)]) -> Option<(i32, Vec<usize>)> {
    let mut wanted = word.iter();
    let mut next = wanted.next();
    let mut end = None;
    for (place, (_, char)) in text.iter().enumerate() {
        if next == Some(char) {
            next = wanted.next();
            if next.is_none() {
                end = Some(place);
                break;
            }
        }
    }
    let mut places = Vec::with_capacity(word.len());
    let mut left = word;
    for place in (0..=end?).rev() {
        let Some((last, rest)) = left.split_last() else {
            break;
        };
        if text[place].1 == *last {
            places.push(place);
            left = rest;
        }
    }
    places.reverse();
    let (first, last) = (places.first()?, places.last()?);
    let starts = places.iter().filter(|place| begins_word(text, **place)).count();
    let bonus = WORD_START * i32::try_from(starts).unwrap_or(0).min(4);
    Some((bonus - cost(last - first), places))
}

fn begins_word(text: &[(usize, char)], place: usize) -> bool {
    place == 0 || !text[place - 1].1.is_alphanumeric()
}

fn cost(distance: usize) -> i32 {
    i32::try_from(distance.min(WORST)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best<'a>(pattern: &str, texts: &[&'a str]) -> Vec<&'a str> {
        let mut fits: Vec<_> = texts
            .iter()
            .filter_map(|text| Some((std::cmp::Reverse(fit(pattern, text)?.score), *text)))
            .collect();
        fits.sort_by_key(|(score, _)| *score);
        fits.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn better_fits_come_first() {
        let texts = ["prefix tests", "fix the tests", "f i x", "nothing", "the fix"];
        assert_eq!(
            best("fix", &texts),
            ["fix the tests", "the fix", "prefix tests", "f i x"]
        );
        assert_eq!(best("tests fix", &texts), ["fix the tests", "prefix tests"]);
        assert_eq!(best("", &texts).len(), texts.len());
        assert_eq!(best("FTT", &["fix the tests"]), ["fix the tests"]);
        assert!(best("xif", &["fix"]).is_empty());
    }

    #[test]
    fn places_are_offsets_of_characters() {
        assert_eq!(fit("字a", "汉字 ab").unwrap().at, [3, 7]);
        assert_eq!(fit("ab", "汉字 ab").unwrap().at, [7, 8]);
        assert_eq!(
            fit("abc", "a.b.a.b.c").unwrap().at,
            [4, 6, 8],
            "as near as possible"
        );
        assert_eq!(fit("İ", "i").map(|fit| fit.at), Some(vec![0]));
    }
}
