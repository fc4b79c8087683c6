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
    cx.shell.policy.mode = confinement(cx.shell.policy.mode, preset, permit);
    match (preset, permit) {
        (Preset::FullAccess, _) => cx.files.write = WriteScope::Anywhere,
        (Preset::ReadOnly, Permit::Preset) => cx.files.write = WriteScope::Roots(Vec::new()),
        (Preset::ReadOnly | Preset::WorkspaceWrite, Permit::Approved) => widen(cx, subjects),
        (Preset::WorkspaceWrite, Permit::Preset) => {}
    }
}

/// Says how a command is confined. Where the settings turn that off, there may be nothing that could confine.
fn confinement(configured: Mode, preset: Preset, permit: Permit) -> Mode {
    match (configured, preset, permit) {
        (Mode::Unconfined, _, _) | (_, Preset::FullAccess, _) => Mode::Unconfined,
        (_, Preset::ReadOnly, Permit::Preset) => Mode::ReadOnly,
        (_, Preset::ReadOnly, Permit::Approved) | (_, Preset::WorkspaceWrite, _) => Mode::WorkspaceWrite,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_confined_as_the_preset_says_unless_the_settings_turn_that_off() {
        let presets = [Preset::ReadOnly, Preset::WorkspaceWrite, Preset::FullAccess];
        let given =
            |configured: Mode, permit: Permit| presets.map(|preset| confinement(configured, preset, permit));
        let (read, write, open) = (Mode::ReadOnly, Mode::WorkspaceWrite, Mode::Unconfined);
        assert_eq!(given(write, Permit::Preset), [read, write, open]);
        assert_eq!(given(write, Permit::Approved), [write, write, open]);
        for permit in [Permit::Preset, Permit::Approved] {
            assert_eq!(given(open, permit), [open; 3]);
        }
    }
}
