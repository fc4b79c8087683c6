//! Checks who uses whom against the rank table of docs/ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

use super::rank_table::{Depends, Rank, Row, Tables};
use crate::metadata::Metadata;

/// The crates of the agent side that code outside it may use.
const PUBLISHED_FACE: [&str; 7] = [
    "protocol",
    "client",
    "settings",
    "stdx",
    "scripted-model",
    "sftp",
    "vendor-http",
];

/// A package of the workspace and the packages of the workspace that it uses.
#[derive(Clone, Debug)]
struct Member {
    name: String,
    /// Folder of the manifest, relative to the root.
    folder: String,
    normal: BTreeSet<String>,
    dev: BTreeSet<String>,
}

impl Member {
    fn is_agent_side(&self) -> bool {
        self.folder.starts_with("remote-agent")
    }
}

/// Finds crates that are listed not at all, twice, or although they are not there.
fn listing(members: &[Member], tables: &Tables) -> Vec<String> {
    let listed: Vec<_> = tables.present.iter().flat_map(|row| &row.crates).collect();
    let planned: BTreeSet<_> = tables.planned.iter().flat_map(|row| &row.crates).collect();
    let mut found = Vec::new();
    for member in members {
        match listed.iter().filter(|name| **name == &member.name).count() {
            1 => {}
            0 => found.push(format!("{} is not in the rank table", member.name)),
            times => found.push(format!("{} is in the rank table {times} times", member.name)),
        }
        if planned.contains(&member.name) {
            found.push(format!("{} is here, but listed as planned", member.name));
        }
    }
    let absent = listed
        .iter()
        .filter(|name| !members.iter().any(|member| member.name == ***name));
    found.extend(absent.map(|name| format!("{name} is in the rank table but not in the workspace")));
    found
}

/// Finds ordinary dependencies that do not lead to a strictly lower rank.
fn upward_edges(members: &[Member], rows: &[Row]) -> Vec<String> {
    let ranks: BTreeMap<_, _> = rows
        .iter()
        .flat_map(|row| row.crates.iter().map(|name| (name.as_str(), row.rank)))
        .collect();
    let mut found = Vec::new();
    for (user, used) in members
        .iter()
        .flat_map(|member| member.normal.iter().map(move |used| (&member.name, used)))
    {
        let down = match (ranks.get(user.as_str()), ranks.get(used.as_str())) {
            (user, Some(Rank::Development)) => user == Some(&Rank::Development),
            (Some(Rank::Level(user)), Some(Rank::Level(used))) => used < user,
            // Rows that are missing are reported by `listing`.
            _ => true,
        };
        if !down {
            found.push(format!(
                "{user} may not depend on {used}: only on crates of strictly lower rank"
            ));
        }
    }
    found
}

/// Finds differences between the manifests and the column of dependencies.
fn undeclared_edges(members: &[Member], rows: &[Row]) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows {
        let Depends::On(listed) = &row.depends else {
            continue;
        };
        let listed: BTreeSet<_> = listed.iter().cloned().collect();
        for member in members.iter().filter(|member| row.crates.contains(&member.name)) {
            let used: BTreeSet<_> = member
                .normal
                .iter()
                .filter(|name| *name != "stdx")
                .cloned()
                .collect();
            let name = &member.name;
            found.extend(
                used.difference(&listed)
                    .map(|used| format!("{name} uses {used}, which its row does not list")),
            );
            found.extend(
                listed
                    .difference(&used)
                    .map(|used| format!("{name} does not use {used}, which its row lists")),
            );
        }
    }
    found
}

/// Finds uses of any kind that cross between the two sides other than through the published face (invariant 4).
fn forbidden_crossings(members: &[Member]) -> Vec<String> {
    let agent_side: BTreeSet<_> = members
        .iter()
        .filter(|member| member.is_agent_side())
        .map(|member| &member.name)
        .collect();
    let mut found = Vec::new();
    for member in members {
        for used in member.normal.union(&member.dev) {
            let allowed = match (member.is_agent_side(), agent_side.contains(used)) {
                (true, inside) => inside,
                (false, true) => {
                    PUBLISHED_FACE.contains(&used.as_str())
                        || (member.name == "local" && used == "remote-agent")
                }
                (false, false) => true,
            };
            if !allowed {
                found.push(format!(
                    "{} may not use {used}: the sides meet at the published face only",
                    member.name
                ));
            }
        }
    }
    found
}

/// Returns the names of all packages that `name` needs to run.
fn closure<'a>(metadata: &'a Metadata, name: &str) -> BTreeSet<&'a str> {
    let packages = metadata.by_id();
    let nodes: BTreeMap<_, _> = metadata
        .resolve
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node))
        .collect();
    let start = metadata.members().find(|package| package.name == name);
    let mut waiting: Vec<_> = start.map(|package| package.id.as_str()).into_iter().collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id) {
            continue;
        }
        let edges = nodes.get(id).map(|node| node.deps.as_slice()).unwrap_or_default();
        let normal = edges
            .iter()
            .filter(|edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none()));
        waiting.extend(normal.map(|edge| edge.pkg.as_str()));
    }
    seen.iter()
        .filter_map(|id| packages.get(id))
        .map(|package| package.name.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system;
    use crate::tidy::{assert_none, metadata, read};

    fn workspace() -> (Vec<Member>, Tables) {
        let root = system::repository_root();
        let metadata = metadata();
        let names: BTreeSet<_> = metadata.members().map(|package| package.name.clone()).collect();
        let members = metadata.members().map(|package| {
            let edges = |dev: bool| {
                let own = package
                    .dependencies
                    .iter()
                    .filter(|edge| names.contains(&edge.name));
                own.filter(|edge| (edge.kind.as_deref() == Some("dev")) == dev)
                    .map(|edge| edge.name.clone())
                    .collect()
            };
            let folder = package
                .manifest_path
                .parent()
                .unwrap()
                .strip_prefix(&root)
                .unwrap();
            Member {
                name: package.name.clone(),
                folder: folder.to_string_lossy().into_owned(),
                normal: edges(false),
                dev: edges(true),
            }
        });
        (members.collect(), Tables::parse(&read("docs/ARCHITECTURE.md")))
    }

    #[test]
    fn the_rank_table_lists_exactly_the_workspace() {
        let (members, tables) = workspace();
        assert_none(&listing(&members, &tables));
    }

    #[test]
    fn every_dependency_leads_to_a_lower_rank() {
        let (members, tables) = workspace();
        assert_none(&upward_edges(&members, &tables.present));
    }

    #[test]
    fn the_rank_table_states_the_dependencies() {
        let (members, tables) = workspace();
        assert_none(&undeclared_edges(&members, &tables.present));
    }

    #[test]
    fn the_two_sides_meet_at_the_published_face() {
        assert_none(&forbidden_crossings(&workspace().0));
    }

    #[test]
    fn a_folder_has_the_name_of_its_package() {
        let (members, _) = workspace();
        let wrong = members
            .iter()
            .filter(|member| member.folder.rsplit('/').next() != Some(&member.name));
        assert_none(
            &wrong
                .map(|member| format!("{} is in {}", member.name, member.folder))
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn the_wire_types_need_no_runtime() {
        let metadata = metadata();
        let needed = closure(&metadata, "protocol");
        assert!(needed.contains("serde"), "the graph was not walked: {needed:?}");
        assert!(!needed.contains("tokio"), "protocol must not need tokio");
        assert!(
            closure(&metadata, "serve").contains("tokio"),
            "the walk would not have found tokio"
        );
    }

    fn member(name: &str, folder: &str, normal: &[&str], dev: &[&str]) -> Member {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Member {
            name: name.to_owned(),
            folder: folder.to_owned(),
            normal: set(normal),
            dev: set(dev),
        }
    }

    fn row(rank: Rank, name: &str, depends: &[&str]) -> Row {
        let depends = Depends::On(depends.iter().map(|name| (*name).to_owned()).collect());
        Row {
            rank,
            crates: vec![name.to_owned()],
            depends,
        }
    }

    #[test]
    fn missing_double_and_absent_rows_are_found() {
        let rows = ["b", "c", "c", "d"].map(|name| row(Rank::Level(0), name, &[]));
        let tables = Tables {
            present: rows.to_vec(),
            planned: vec![row(Rank::Level(0), "b", &[])],
        };
        let members = ["a", "b", "c"].map(|name| member(name, name, &[], &[]));
        assert_eq!(
            listing(&members, &tables),
            [
                "a is not in the rank table",
                "b is here, but listed as planned",
                "c is in the rank table 2 times",
                "d is in the rank table but not in the workspace",
            ]
        );
    }

    #[test]
    fn edges_within_a_rank_upward_and_to_development_crates_are_found() {
        let rows = [
            row(Rank::Level(0), "low", &[]),
            row(Rank::Level(1), "one", &[]),
            row(Rank::Level(1), "two", &[]),
            row(Rank::Development, "xtask", &[]),
            row(Rank::Development, "faultnet", &[]),
        ];
        let check = |user: &str, used: &str| upward_edges(&[member(user, user, &[used], &[])], &rows).len();
        assert_eq!(check("one", "low"), 0);
        assert_eq!(check("one", "two"), 1);
        assert_eq!(check("low", "one"), 1);
        assert_eq!(check("one", "xtask"), 1);
        assert_eq!(check("xtask", "one"), 0);
        assert_eq!(check("xtask", "faultnet"), 0);
    }

    #[test]
    fn differences_from_the_column_are_found() {
        let members = [member("a", "a", &["b", "stdx"], &["x"])];
        assert_eq!(
            undeclared_edges(&members, &[row(Rank::Level(1), "a", &["b"])]),
            [""; 0]
        );
        assert_eq!(
            undeclared_edges(&members, &[row(Rank::Level(1), "a", &["c"])]),
            [
                "a uses b, which its row does not list",
                "a does not use c, which its row lists",
            ]
        );
    }

    #[test]
    fn crossings_are_found_in_both_directions_and_in_tests_too() {
        let found = |user: Member| {
            let other = [
                member("transport", "transport", &[], &[]),
                member("protocol", "remote-agent/crates/protocol", &[], &[]),
                member("tools", "remote-agent/crates/tools", &[], &[]),
                member("remote-agent", "remote-agent", &[], &[]),
            ];
            let mut members = other.to_vec();
            members.push(user);
            forbidden_crossings(&members).len()
        };
        assert_eq!(
            found(member(
                "link",
                "local/crates/link",
                &["transport", "protocol"],
                &[]
            )),
            0
        );
        assert_eq!(found(member("link", "local/crates/link", &["tools"], &[])), 1);
        assert_eq!(
            found(member("link", "local/crates/link", &[], &["remote-agent"])),
            1
        );
        assert_eq!(found(member("local", "local", &["remote-agent"], &["tools"])), 1);
        assert_eq!(
            found(member(
                "serve",
                "remote-agent/crates/serve",
                &["tools"],
                &["transport"]
            )),
            1
        );
    }
}
