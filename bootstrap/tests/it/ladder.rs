//! What keeps an agent running on hosts that end what a login leaves behind, in every login shell.

use std::{fs, os::unix::net::UnixListener};

use bootstrap::{Rung, Stay, ladder, probe};

use crate::{
    host::Host,
    stand_in::{go, hello, program_with, wanted},
};

const SHELLS: [&str; 4] = ["/bin/bash", "/bin/dash", "/usr/bin/fish", "/bin/tcsh"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manager {
    Runs,
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Linger {
    Granted,
    Refused,
}

/// A host whose login manager ends processes, with or without a service manager of the user.
struct Ending {
    host: Host,
    _bus: Option<UnixListener>,
}

impl Ending {
    fn new(shell: &str, manager: Manager, linger: Linger) -> Self {
        let mut host = Host::with_shell(shell);
        let folder = host.dir.path().to_owned();
        let status = u8::from(linger == Linger::Refused);
        host.fake(
            "loginctl",
            &format!(
                "case \"$*\" in *enable-linger*) echo asked >>'{}/linger'; exit {status} ;; esac\n\
                 printf 'KillUserProcesses=yes\\nKillOnlyUsers=\\nKillExcludeUsers=nobody-else\\n'",
                folder.display()
            ),
        );
        host.fake("systemd-run", "exit 1");
        host.env.push(("XDG_SESSION_ID".into(), "c2".into()));
        host.env
            .push(("XDG_RUNTIME_DIR".into(), folder.display().to_string()));
        let bus = match manager {
            Manager::Runs => Some(UnixListener::bind(folder.join("bus")).unwrap()),
            Manager::Absent => None,
        };
        Self { host, _bus: bus }
    }

    /// A program that notes how it is started and answers, or fails with this code.
    fn program(&self, code: u8) -> Vec<u8> {
        let json = serde_json::to_string(&hello()).unwrap();
        let noted = self.noted();
        program_with(
            &format!(
                "echo \"$*\" >>'{}'; [ {code} = 0 ] || exit {code}; printf '%s %s %s\\n' \"$4\" '{json}' \"$4\"",
                noted.display()
            ),
            20_000,
        )
    }

    fn noted(&self) -> std::path::PathBuf {
        self.host.dir.path().join("noted")
    }

    fn starts(&self) -> String {
        fs::read_to_string(self.noted()).unwrap_or_default()
    }
}

#[tokio::test]
async fn a_unit_is_asked_for_where_there_is_a_service_manager() {
    for shell in SHELLS {
        for (linger, stay) in [
            (Linger::Granted, Stay::Unit),
            (Linger::Refused, Stay::LastSession),
        ] {
            let ending = Ending::new(shell, Manager::Runs, linger);
            let ready = go(&ending.host, &wanted(&ending.host, &ending.program(0)))
                .await
                .unwrap();
            assert_eq!((ready.stay, ready.hello), (Some(stay), Some(hello())), "{shell}");
            assert!(ready.fallen.is_none(), "{shell}");
            let starts = ending.starts();
            assert!(
                starts.starts_with("serve --detach --fence ") && starts.ends_with(" --under manager\n"),
                "{shell}: {starts}"
            );
            let linger = fs::read_to_string(ending.host.dir.path().join("linger")).unwrap();
            assert_eq!(linger, "asked\n", "{shell}");
        }
    }
}

#[tokio::test]
async fn without_one_nothing_is_started_and_the_agent_begins_with_the_connection() {
    for shell in SHELLS {
        let ending = Ending::new(shell, Manager::Absent, Linger::Granted);
        let ready = go(&ending.host, &wanted(&ending.host, &ending.program(0)))
            .await
            .unwrap();
        assert_eq!(
            (ready.stay, ready.hello),
            (Some(Stay::Connection), None),
            "{shell}"
        );
        assert!(
            ready.program.contains("/bin/reasonix-0.2.0-"),
            "{shell}: {}",
            ready.program
        );
        assert_eq!(ending.starts(), "", "{shell}");
    }
}

#[tokio::test]
async fn what_does_not_stay_falls_to_the_connection_and_other_failures_are_said() {
    // `serve --detach` says by its code that no daemon came to be.
    let ending = Ending::new("/bin/bash", Manager::Runs, Linger::Granted);
    let ready = go(&ending.host, &wanted(&ending.host, &ending.program(5)))
        .await
        .unwrap();
    assert_eq!((ready.stay, ready.hello), (Some(Stay::Connection), None));
    let fallen = ready.fallen.unwrap();
    assert_eq!(fallen.to_string(), "launch on testhost: the daemon did not start");
    let ending = Ending::new("/bin/bash", Manager::Runs, Linger::Granted);
    let error = go(&ending.host, &wanted(&ending.host, &ending.program(2)))
        .await
        .unwrap_err();
    assert_eq!(error.status().unwrap().to_string(), "exit code 2");
}

#[tokio::test]
async fn a_host_that_ends_nothing_and_a_login_that_is_no_session_are_left_alone() {
    let plain = [Rung::Detach, Rung::Attach];
    let ask = bootstrap::Ask {
        workspace: None,
        home: None,
        write: bootstrap::Write::Forbidden,
    };
    let mut ending = Ending::new("/bin/bash", Manager::Runs, Linger::Granted);
    let found = probe(&ending.host, &ask).await.unwrap();
    assert_eq!(ladder(&found)[0], Rung::Unit { linger: true });
    assert_eq!(found.login.except, ["nobody-else"]);
    ending.host.env.retain(|(name, _)| name != "XDG_SESSION_ID");
    let found = probe(&ending.host, &ask).await.unwrap();
    assert_eq!((found.login.kills, ladder(&found)), (Some(true), plain.to_vec()));
    let ending = Ending::new("/bin/bash", Manager::Runs, Linger::Granted);
    ending.host.fake("loginctl", "echo KillUserProcesses=no");
    let found = probe(&ending.host, &ask).await.unwrap();
    assert_eq!(ladder(&found), plain);
}
