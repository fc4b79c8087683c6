//! The name that was probably meant.

/// Gives the candidate that is nearest to `typed`: one that it begins, or one at most two slips away.
pub(super) fn nearest<'a>(typed: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let allowed = if typed.chars().count() < 4 { 1 } else { 2 };
    candidates
        .filter_map(|candidate| {
            let slips = slips(&typed, candidate);
            if slips <= allowed {
                Some((slips, candidate))
            } else if typed.len() > 1 && candidate.starts_with(&typed) {
                Some((allowed, candidate))
            } else {
                None
            }
        })
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// Counts the fewest insertions, deletions, changes and swaps of neighbours that make one word the other (optimal
/// string alignment).
fn slips(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (a, b, want) in [
            ("", "", 0),
            ("", "ab", 2),
            ("help", "help", 0),
            ("hlep", "help", 1),
            ("hepl", "help", 1),
            ("helpp", "help", 1),
            ("kosten", "cost", 3),
        ] {
            assert_eq!(slips(a, b), want, "{a} {b}");
            assert_eq!(slips(b, a), want, "{b} {a}");
        }
    }

    #[test]
    fn only_what_is_near_is_offered() {
        let names = || ["help", "status", "cost", "copy", "cls"].into_iter();
        assert_eq!(nearest("hlep", names()), Some("help"));
        assert_eq!(nearest("STATSU", names()), Some("status"));
        assert_eq!(nearest("sta", names()), Some("status"));
        assert_eq!(nearest("compact", names()), None);
        assert_eq!(nearest("x", names()), None);
    }
}
