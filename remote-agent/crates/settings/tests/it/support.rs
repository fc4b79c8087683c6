//! A home and a project in a temporary folder.

use std::{fs, path::PathBuf};

use settings::{Error, Flag, Loaded, Sources, load};

pub(crate) struct Fixture {
    folder: tempfile::TempDir,
    pub(crate) sources: Sources,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&project).unwrap();
        let sources = Sources {
            home: Some(home),
            project: Some(project),
            ..Sources::default()
        };
        Self { folder, sources }
    }

    pub(crate) fn user(self, text: &str) -> Self {
        fs::write(self.path("home/config.toml"), text).unwrap();
        self
    }

    pub(crate) fn project(self, text: &str) -> Self {
        fs::write(self.path("project/reasonix.toml"), text).unwrap();
        self
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.sources.environment.insert(name.into(), value.into());
        self
    }

    pub(crate) fn flag(mut self, name: &str, key: &str, value: &str) -> Self {
        self.sources.flags.push(Flag {
            name: name.into(),
            key: key.into(),
            value: value.into(),
        });
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn load(&self) -> Loaded {
        load(&self.sources).unwrap()
    }

    pub(crate) fn error(&self) -> Error {
        load(&self.sources).unwrap_err()
    }

    /// The error and its hints as lines, with the folder's name taken out.
    pub(crate) fn error_lines(&self) -> Vec<String> {
        let error = self.error();
        let text = error
            .to_string()
            .replace(&format!("{}/", self.folder.path().display()), "");
        text.lines()
            .map(str::to_owned)
            .chain(error.hints().into_iter().map(|hint| format!("hint: {hint}")))
            .collect()
    }

    /// The warnings as lines, with the folder's name taken out.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let prefix = format!("{}/", self.folder.path().display());
        let line = |warning: &settings::Warning| {
            let hint = warning
                .hint
                .as_deref()
                .map(|hint| format!(" [{hint}]"))
                .unwrap_or_default();
            format!("{}{hint}", warning.to_string().replace(&prefix, ""))
        };
        self.load().warnings.iter().map(line).collect()
    }
}
