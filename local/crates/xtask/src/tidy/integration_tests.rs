//! Keeps integration tests in one binary per crate: each further binary links everything once more.

use crate::metadata::Package;

/// Finds packages with several test binaries, or with one in an unusual place.
fn check(package: &Package) -> Vec<String> {
    let tests = package
        .targets
        .iter()
        .filter(|target| target.kind.iter().any(|kind| kind == "test"));
    let tests: Vec<_> = tests.map(|target| &target.src_path).collect();
    let mut found = Vec::new();
    if tests.len() > 1 {
        found.push(format!(
            "{}: {} test binaries, but each crate has one",
            package.name,
            tests.len()
        ));
    }
    let usual = |path: &&std::path::PathBuf| {
        path.ends_with("tests/it/main.rs") || path.ends_with("tests/e2e/main.rs")
    };
    for test in tests.into_iter().filter(|path| !usual(path)) {
        found.push(format!(
            "{}: tests live in tests/it/main.rs, not in {}",
            package.name,
            test.display()
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{assert_none, metadata};

    #[test]
    fn every_crate_has_one_test_binary() {
        assert_none(&metadata().members().flat_map(check).collect::<Vec<_>>());
    }

    fn found(paths: &[&str]) -> usize {
        let targets: Vec<_> = paths
            .iter()
            .map(|path| serde_json::json!({ "kind": ["test"], "src_path": path }))
            .collect();
        let package = serde_json::json!({
            "id": "a", "name": "a", "version": "1.0.0", "source": null, "license": null,
            "manifest_path": "Cargo.toml", "dependencies": [], "targets": targets,
        });
        check(&serde_json::from_value(package).unwrap()).len()
    }

    #[test]
    fn a_second_binary_or_another_place_is_found() {
        assert_eq!(found(&[]), 0);
        assert_eq!(found(&["a/tests/it/main.rs"]), 0);
        assert_eq!(found(&["a/tests/it/main.rs", "a/tests/e2e/main.rs"]), 1);
        assert_eq!(found(&["a/tests/smoke.rs"]), 1);
    }
}
