//! "Did you mean …?"

/// Gives the known name nearest to `given`, if one is near enough to be what was meant.
pub(crate) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (given.chars().count() / 3).clamp(1, 3);
    let given = given.to_lowercase();
    let scored = known.into_iter().map(|name| (distance(&given, name), name));
    scored
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Counts the characters to insert, remove, replace or swap with a neighbour.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_leaves_strangers_alone() {
        let known = ["temperature", "mode", "deny"];
        assert_eq!(nearest("temprature", known), Some("temperature"));
        assert_eq!(nearest("mdoe", known), Some("mode"));
        assert_eq!(nearest("Deny", known), Some("deny"));
        assert_eq!(nearest("port", known), None);
        assert_eq!(nearest("", known), None);
    }
}
