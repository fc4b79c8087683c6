//! Follows `mod` lines: each file must be reached, its name must say something, and `lib.rs` only introduces.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, ItemMod};

use super::source::Source;

/// Names that say that nobody knew where something belongs.
const VAGUE: [&str; 8] = [
    "util", "utils", "helper", "helpers", "common", "misc", "shared", "stuff",
];

/// Finds files that no `mod` line reaches from any of the `roots`.
fn unreached(sources: &[Source], roots: &[String]) -> Vec<String> {
    let by_path: BTreeMap<_, _> = sources
        .iter()
        .map(|source| (source.path.as_str(), source))
        .collect();
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<String> = roots.to_vec();
    while let Some(path) = waiting.pop() {
        let Some(source) = by_path.get(path.as_str()) else {
            continue;
        };
        if reached.insert(path.clone()) {
            let is_root = roots.contains(&path);
            children(
                &source.tree.items,
                &folder_for_modules(&path, is_root),
                &path,
                &mut waiting,
            );
        }
    }
    let lost = sources.iter().filter(|source| !reached.contains(&source.path));
    lost.map(|source| {
        format!(
            "{}: no `mod` line leads here, so it is never compiled",
            source.path
        )
    })
    .collect()
}

/// Returns the folder in which the modules of a file are looked for.
fn folder_for_modules(path: &str, is_root: bool) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if is_root || name == "mod.rs" {
        folder.to_owned()
    } else {
        format!("{folder}/{}", name.trim_end_matches(".rs"))
    }
}

/// Collects the paths that the `mod` lines of a file may mean.
fn children(items: &[Item], folder: &str, path: &str, found: &mut Vec<String>) {
    for module in items.iter().filter_map(|item| {
        if let Item::Mod(module) = item {
            Some(module)
        } else {
            None
        }
    }) {
        let name = module.ident.to_string();
        if let Some((_, items)) = &module.content {
            children(items, &format!("{folder}/{name}"), path, found);
        } else if let Some(file) = stated_path(module) {
            let beside = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            found.push(format!("{beside}/{file}"));
        } else {
            found.push(format!("{folder}/{name}.rs"));
            found.push(format!("{folder}/{name}/mod.rs"));
        }
    }
}

/// Reads the attribute `#[path = "…"]`.
fn stated_path(module: &ItemMod) -> Option<String> {
    let attribute = module
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("path"))?;
    let value = &attribute.meta.require_name_value().ok()?.value;
    match value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}

/// Finds modules with a name that says nothing.
fn vague_names(path: &str) -> Vec<String> {
    let parts = path
        .split('/')
        .map(|part| part.trim_end_matches(".rs"))
        .filter(|part| VAGUE.contains(part));
    parts
        .map(|part| format!("{path}: `{part}` is not a noun that says what is in it"))
        .collect()
}

/// Finds items of a `lib.rs` other than `mod` and `use` lines.
fn more_than_a_face(source: &Source) -> Vec<String> {
    let wrong = source.tree.items.iter().filter(|item| match item {
        Item::Use(_) => false,
        Item::Mod(module) => module.content.is_some(),
        _ => true,
    });
    let count = wrong.count();
    if count == 0 {
        return Vec::new();
    }
    vec![format!(
        "{}: {count} items other than `mod` and `use` lines",
        source.path
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system;
    use crate::tidy::{assert_none, metadata, source};

    #[test]
    fn every_file_is_compiled() {
        let root = system::repository_root();
        let metadata = metadata();
        let targets = metadata.members().flat_map(|package| &package.targets);
        let roots = targets.map(|target| {
            target
                .src_path
                .strip_prefix(&root)
                .unwrap()
                .to_string_lossy()
                .into_owned()
        });
        // The fuzz targets are a workspace of their own, each file a program.
        let sources = source::sources();
        let fuzzed = sources.iter().map(|source| source.path.clone());
        let fuzzed = fuzzed.filter(|path| path.starts_with("local/crates/xtask/fuzz/targets/"));
        let roots: Vec<_> = roots.chain(fuzzed).collect();
        assert_none(&unreached(&sources, &roots));
    }

    #[test]
    fn every_module_has_a_name_that_says_something() {
        let found: Vec<_> = source::rust_files()
            .iter()
            .flat_map(|file| vague_names(&file.path))
            .collect();
        assert_none(&found);
    }

    #[test]
    fn every_lib_rs_only_introduces() {
        let sources = source::sources();
        let faces = sources
            .iter()
            .filter(|source| source.path.ends_with("src/lib.rs"));
        assert_none(&faces.flat_map(more_than_a_face).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_without_mod_line_is_found() {
        let files = [
            (
                "c/src/lib.rs",
                "mod a;\nmod inline { mod deep; }\n#[path = \"odd.rs\"]\nmod renamed;",
            ),
            ("c/src/a.rs", "mod b;"),
            ("c/src/a/b.rs", ""),
            ("c/src/inline/deep/mod.rs", "mod below;"),
            ("c/src/inline/deep/below.rs", ""),
            ("c/src/odd.rs", ""),
            ("c/src/b.rs", ""),
            ("c/tests/it/main.rs", "mod one;"),
            ("c/tests/it/one.rs", ""),
            ("c/tests/it/two.rs", ""),
        ];
        let sources = files.map(|(path, text)| Source::parse(path, text));
        let roots = ["c/src/lib.rs".to_owned(), "c/tests/it/main.rs".to_owned()];
        assert_eq!(
            unreached(&sources, &roots),
            [
                "c/src/b.rs: no `mod` line leads here, so it is never compiled",
                "c/tests/it/two.rs: no `mod` line leads here, so it is never compiled",
            ]
        );
    }

    #[test]
    fn vague_names_are_found_as_files_and_as_folders() {
        assert_eq!(vague_names("a/src/utils.rs").len(), 1);
        assert_eq!(vague_names("a/src/common/mod.rs").len(), 1);
        assert!(vague_names("a/src/common_prefix.rs").is_empty());
    }

    #[test]
    fn a_function_in_lib_rs_is_found() {
        let check = |text| more_than_a_face(&Source::parse("src/lib.rs", text)).len();
        assert_eq!(
            check("//! Docs.\nmod a;\npub use a::B;\n#[cfg(test)]\nmod tests;"),
            0
        );
        assert_eq!(check("pub fn f() {}"), 1);
        assert_eq!(check("mod a { }"), 1);
    }
}
