//! Says what the largest parts of a program are, by section and by crate.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::crates::crate_of;
use crate::elf;

const SECTIONS: usize = 10;
const CRATES: usize = 25;

/// Describes a program that still has its symbols.
pub(crate) fn describe(file: &[u8]) -> anyhow::Result<String> {
    let mut text = String::new();
    let sections = elf::sections(file)?;
    let loaded = sections
        .iter()
        .filter(|section| section.is_loaded && section.is_in_file());
    table(
        &mut text,
        "section",
        loaded.map(|section| (section.name, section.size)).collect(),
        SECTIONS,
    );
    let mut crates: HashMap<&str, u64> = HashMap::new();
    for symbol in elf::symbols(file)? {
        *crates.entry(crate_of(symbol.name)).or_default() += symbol.size;
    }
    table(&mut text, "crate", crates.into_iter().collect(), CRATES);
    Ok(text)
}

/// Lists the largest, and the rest in one line.
fn table(text: &mut String, what: &str, mut rows: Vec<(&str, u64)>, most: usize) {
    rows.sort_by_key(|(name, size)| (std::cmp::Reverse(*size), *name));
    let all: u64 = rows.iter().map(|(_, size)| size).sum();
    let line = |text: &mut String, name: &str, size: u64| {
        let share = 100.0 * size as f64 / all.max(1) as f64;
        // Writing to a string cannot fail.
        let _infallible = writeln!(text, "  {:>9.1} KiB {share:>5.1} %  {name}", size as f64 / 1024.0);
    };
    let _infallible = writeln!(text, "largest parts by {what}:");
    for (name, size) in rows.iter().take(most) {
        line(text, name, *size);
    }
    let rest = rows.get(most..).unwrap_or_default();
    if !rest.is_empty() {
        let size = rest.iter().map(|(_, size)| size).sum();
        line(text, &format!("{} more", rest.len()), size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_the_rest_in_one_line() {
        let mut text = String::new();
        table(
            &mut text,
            "crate",
            vec![("a", 1024), ("b", 3072), ("c", 1024), ("d", 3072)],
            2,
        );
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "largest parts by crate:",
                "3.0 KiB  37.5 %  b",
                "3.0 KiB  37.5 %  d",
                "2.0 KiB  25.0 %  2 more"
            ]
        );
    }

    #[test]
    fn this_program_can_be_described() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let text = describe(&own).unwrap();
        assert!(text.contains(".text") && text.contains("  syn\n"), "{text}");
    }
}
