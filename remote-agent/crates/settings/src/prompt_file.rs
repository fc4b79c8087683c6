//! Reads the file that `agent.system_prompt_file` names.

use std::{fs, path::Path};

use crate::{
    error::Problem,
    node::{Node, Origin},
};

/// The key.
const KEY: &str = "agent.system_prompt_file";

/// The most bytes that are read.
const MAX_BYTES: u64 = 256 * 1024;

/// Reads the file, relative to the file that names it. What a project file names must stay in the project, symbolic
/// links included.
pub(crate) fn read(name: &str, merged: &Node, project: Option<&Path>) -> Result<String, Problem> {
    let origin = merged
        .find(KEY)
        .map_or(Origin::Default, |node| node.origin.clone());
    let problem = |message: String| Problem {
        origin: origin.clone(),
        key: KEY.to_owned(),
        message,
        hint: None,
    };
    let folder = match &origin {
        Origin::File(place) => place.path.parent(),
        Origin::Default | Origin::Environment(_) | Origin::Flag(_) => project,
    };
    let path = folder.map_or_else(|| Path::new(name).to_owned(), |folder| folder.join(name));
    let failed = |error: std::io::Error| problem(format!("could not read {}: {error}", path.display()));
    let resolved = path.canonicalize().map_err(failed)?;
    if let Some(root) = project
        && matches!(&origin, Origin::File(place) if place.path.parent() == Some(root))
        && !resolved.starts_with(root.canonicalize().map_err(failed)?)
    {
        return Err(problem(
            "a project file cannot name a path outside the project".to_owned(),
        ));
    }
    let metadata = fs::metadata(&resolved).map_err(failed)?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(problem(format!(
            "{} is not a file of at most 256 KiB",
            path.display()
        )));
    }
    fs::read_to_string(&resolved).map_err(failed)
}
