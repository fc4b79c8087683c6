//! What a call may touch once it may run: the preset, widened by an approval for this call only.

use std::path::PathBuf;

use permission::Preset;
use sandbox::Mode;
use stdx::AbsPath;
use tools::{Subject, ToolContext, WriteScope};

/// Whether a person, a rule or a grant let the call run, beyond what the preset does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    /// The preset lets it run.
    Preset,
    /// It was approved.
    Approved,
}

/// Narrows or widens a context for one call.
pub(crate) fn apply(cx: &mut ToolContext, preset: Preset, permit: Permit, subjects: &[Subject]) {
    match (preset, permit) {
        (Preset::FullAccess, _) => {
            cx.files.write = WriteScope::Anywhere;
            cx.shell.policy.mode = Mode::Unconfined;
        }
        (Preset::ReadOnly, Permit::Preset) => {
            cx.files.write = WriteScope::Roots(Vec::new());
            cx.shell.policy.mode = Mode::ReadOnly;
        }
        (Preset::ReadOnly | Preset::WorkspaceWrite, Permit::Approved) => {
            cx.shell.policy.mode = Mode::WorkspaceWrite;
            widen(cx, subjects);
        }
        (Preset::WorkspaceWrite, Permit::Preset) => cx.shell.policy.mode = Mode::WorkspaceWrite,
    }
}

/// Adds the folders of the approved paths, which is what the question named.
fn widen(cx: &mut ToolContext, subjects: &[Subject]) {
    let WriteScope::Roots(roots) = &mut cx.files.write else {
        return;
    };
    for subject in subjects {
        let Subject::Path(path) = subject else { continue };
        let folder: PathBuf = path.resolved.parent().unwrap_or(&path.resolved).to_owned();
        if let Ok(folder) = AbsPath::new(folder) {
            roots.push(folder);
        }
    }
}
