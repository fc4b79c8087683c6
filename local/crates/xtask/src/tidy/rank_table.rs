//! Reads the tables of crates in docs/ARCHITECTURE.md.

/// A row of a table: crates that share a rank and the crates they may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) rank: Rank,
    pub(super) crates: Vec<String>,
    pub(super) depends: Depends,
}

/// The first column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    Level(u8),
    /// Written `–`: for development only, so nothing may depend on it.
    Development,
}

/// The fourth column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Depends {
    /// Exactly these, beside `stdx`.
    On(Vec<String>),
    /// Anything below a folder, or anything at all: words, no names.
    Anything,
}

/// Both tables of the page.
pub(super) struct Tables {
    /// Crates that are members of the workspace.
    pub(super) present: Vec<Row>,
    /// Crates whose time has not come.
    pub(super) planned: Vec<Row>,
}

impl Tables {
    /// Reads the table below the heading of section 3, and the one below `Planned crates`.
    pub(super) fn parse(page: &str) -> Self {
        let section = page
            .split("\n## ")
            .find(|section| section.starts_with("3. "))
            .expect("the page has a section 3");
        let (present, planned) = section
            .split_once("\n### Planned crates")
            .expect("section 3 has planned crates");
        Self {
            present: rows(present),
            planned: rows(planned),
        }
    }
}

fn rows(text: &str) -> Vec<Row> {
    text.lines().filter_map(row).collect()
}

/// Reads `| 2 | `name` | what it owns | `a`, `b` | what it must not know |`; other lines are no rows.
fn row(line: &str) -> Option<Row> {
    let cells: Vec<_> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
    let [rank, crates, _, depends, ..] = cells.as_slice() else {
        return None;
    };
    let rank = match *rank {
        "–" => Rank::Development,
        number => Rank::Level(number.parse().ok()?),
    };
    let names = in_backticks(depends);
    let depends = if depends.contains("anything") {
        Depends::Anything
    } else {
        Depends::On(names)
    };
    Some(Row {
        rank,
        crates: in_backticks(crates),
        depends,
    })
}

fn in_backticks(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_read() {
        let page = "# A\n\n## 3. Crates\n\n| Rank | Crate | Owns | Depends on | Must not know |\n| --: | --- | --- | --- | --- |\n\
            | 0 | `stdx` | `x` | – | agents |\n| 1 | `a`, `b` | y | `c`, `d` | z |\n| 8 | `local` | y | anything | – |\n\
            | – | `xtask` | y | – | – |\n\n### Planned crates\n\n| 4 | `tui` | screen | `link` | – |\n\n## 4. More\n| 9 | `no` | | | |\n";
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let row = |rank, crates: &[&str], depends| Row {
            rank,
            crates: names(crates),
            depends,
        };
        let tables = Tables::parse(page);
        assert_eq!(
            tables.present,
            [
                row(Rank::Level(0), &["stdx"], Depends::On(vec![])),
                row(Rank::Level(1), &["a", "b"], Depends::On(names(&["c", "d"]))),
                row(Rank::Level(8), &["local"], Depends::Anything),
                row(Rank::Development, &["xtask"], Depends::On(vec![])),
            ]
        );
        assert_eq!(
            tables.planned,
            [row(Rank::Level(4), &["tui"], Depends::On(names(&["link"])))]
        );
    }
}
