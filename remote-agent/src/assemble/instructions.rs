//! Standing instructions of the user and the project (`REASONIX.md`, `AGENTS.md` and their like).

use context::Instruction;
use memory::Directories;
use stdx::AbsPath;

/// Reads the instruction files, from broad to specific. What could not be read is logged.
pub(super) fn read(home: &AbsPath, workspace: &AbsPath) -> Vec<Instruction> {
    let directories = Directories {
        home: Some(home.to_path_buf()),
        workspace: workspace.to_path_buf(),
        target: None,
    };
    let found = memory::load(&directories);
    for diagnostic in &found.diagnostics {
        tracing::warn!("{diagnostic}");
    }
    let labelled = |file: memory::Instruction| Instruction {
        heading: file.heading,
        text: file.text,
    };
    found.list.into_iter().map(labelled).collect()
}
