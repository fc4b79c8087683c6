//! A home and a workspace in a temporary folder.

use std::{fs, path::PathBuf};

use memory::{Directories, Instructions, load};

pub(crate) struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("ws")).unwrap();
        Self { folder }
    }

    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn load(&self) -> Instructions {
        self.load_for("ws")
    }

    /// Loads for work in `target`, and checks what must hold for every result.
    pub(crate) fn load_for(&self, target: &str) -> Instructions {
        let directories = Directories {
            home: Some(self.path("home")),
            workspace: self.path("ws"),
            target: Some(self.path(target)),
        };
        let loaded = load(&directories);
        assert!(
            !loaded
                .render()
                .contains(&self.folder.path().display().to_string()),
            "an absolute path is shown"
        );
        for diagnostic in &loaded.diagnostics {
            assert!(
                !diagnostic
                    .to_string()
                    .contains(&self.folder.path().display().to_string()),
                "{diagnostic}"
            );
        }
        loaded
    }

    pub(crate) fn headings(&self, target: &str) -> Vec<String> {
        self.load_for(target)
            .list
            .into_iter()
            .map(|instruction| instruction.heading)
            .collect()
    }

    pub(crate) fn text(&self) -> String {
        self.load()
            .list
            .into_iter()
            .map(|instruction| instruction.text)
            .collect()
    }

    pub(crate) fn diagnostics(&self) -> Vec<String> {
        self.load().diagnostics.iter().map(ToString::to_string).collect()
    }
}
