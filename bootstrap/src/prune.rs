//! Which installed programs may go.

use crate::{
    layout,
    probe::{Daemon, Installed},
};

/// Chooses names to remove from `directory` once `keep` is installed there: all but the newest other one and those a
/// daemon runs.
///
/// `installed` is sorted newest first. The host looks once more for running programs before it removes one.
#[must_use]
pub(crate) fn removable(
    installed: &[Installed],
    daemons: &[Daemon],
    directory: &str,
    keep: &str,
) -> Vec<String> {
    let in_use = |path: &str| {
        daemons
            .iter()
            .filter_map(Daemon::program)
            .any(|program| program == path)
    };
    installed
        .iter()
        .filter(|program| program.folder() == directory)
        .filter(|program| program.name() != keep && layout::parse_program(program.name()).is_some())
        .skip(1)
        .filter(|program| !in_use(&program.path))
        .map(|program| program.name().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Proof, tests::hello};

    #[test]
    fn keeps_current_previous_and_running() {
        let program = |n: u32| Installed {
            path: format!("/h/bin/reasonix-0.{n}.0-00000000000{n}"),
            size: 1,
            version_output: None,
        };
        let foreign = Installed {
            path: "/usr/bin/reasonix".into(),
            size: 1,
            version_output: None,
        };
        let installed = [
            program(5),
            foreign,
            program(4),
            program(3),
            program(2),
            program(1),
        ];
        let mut hello = hello();
        hello.identity.program = program(2).path;
        let running = Daemon {
            hello: Some(hello),
            home: None,
            proof: Proof::Unsure,
        };
        let gone = removable(&installed, &[running], "/h/bin", "reasonix-0.5.0-000000000005");
        assert_eq!(
            gone,
            ["reasonix-0.3.0-000000000003", "reasonix-0.1.0-000000000001"]
        );
    }
}
