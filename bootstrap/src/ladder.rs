//! How an agent is kept running when its user logs out, best way first. Pure.
//!
//! A login manager may end whatever a user started when the user's session ends (`KillUserProcesses`, logind.conf(5)).
//! What runs under the user's own service manager is not part of the session, and goes on: without a login for as long as
//! lingering is on, else until the last session of the user ends. Where neither is to be had, the agent lives on the
//! connection.

use std::fmt;

use crate::{
    answer::Answer,
    probe::{Probe, System},
};

/// What the host's login manager does with processes of a user who logs out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginManager {
    /// `KillUserProcesses`; `None` where nobody says.
    pub kills: Option<bool>,
    /// `KillOnlyUsers`: when not empty, only these users' processes are ended.
    pub only: Vec<String>,
    /// `KillExcludeUsers`: these users' processes are not ended.
    pub except: Vec<String>,
    /// The name of the user.
    pub user: String,
    /// Whether this login is a session of the login manager.
    pub in_session: bool,
    /// Whether a service manager of the user can be asked to run something (`systemd-run --user`).
    pub user_manager: bool,
}

impl LoginManager {
    /// Reads what the probe answered. Later lines win, as later files do.
    pub(crate) fn read(answer: &Answer) -> Self {
        let mut found = Self {
            user: answer.text("user").unwrap_or_default(),
            in_session: answer.get("session").is_some(),
            user_manager: answer.get("manager").is_some(),
            ..Self::default()
        };
        for (name, value) in answer.all("logind").filter_map(|line| line.split_once('=')) {
            let users = || value.split_whitespace().map(str::to_owned).collect();
            match name.trim() {
                "KillUserProcesses" => found.kills = truth(value.trim()),
                "KillOnlyUsers" => found.only = users(),
                "KillExcludeUsers" => found.except = users(),
                _ => {}
            }
        }
        found
    }

    /// Says whether what this login starts is ended with it.
    #[must_use]
    pub fn ends_processes(&self) -> bool {
        let names = |users: &[String]| users.contains(&self.user);
        self.kills == Some(true)
            && self.in_session
            && (self.only.is_empty() || names(&self.only))
            && !names(&self.except)
    }
}

/// Reads a boolean of systemd.syntax(7).
fn truth(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "1" | "yes" | "y" | "true" | "t" | "on" => Some(true),
        "0" | "no" | "n" | "false" | "f" | "off" => Some(false),
        _ => None,
    }
}

/// One way to keep an agent running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rung {
    /// It leaves the login session by itself.
    Detach,
    /// It runs in a transient unit of the user's service manager.
    Unit {
        /// Whether lingering has to be asked for.
        linger: bool,
    },
    /// It lives on the connection.
    Attach,
}

/// How long an agent that was started stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// It outlives the connection.
    Detached,
    /// It outlives the connection, in a unit of the user's service manager.
    Unit,
    /// It runs in a unit of the user's service manager, which ends with the user's last session.
    LastSession,
    /// It lives on the connection and ends with it.
    Connection,
}

impl Stay {
    /// Gives what a person should know about it; `None` where the agent stays as it always does.
    #[must_use]
    pub fn notice(self) -> Option<&'static str> {
        match self {
            Self::Detached => None,
            Self::Unit => Some(
                "the host ends what a login leaves behind, so the agent runs as a unit of your service manager there",
            ),
            Self::LastSession => Some(
                "the host ends what a login leaves behind, and lingering could not be had: the agent ends when your \
                 last session there does (an administrator can run `loginctl enable-linger`)",
            ),
            Self::Connection => Some(
                "the agent cannot stay on the host: it ends with this connection, its running turn is then \
                 interrupted, and the next connection takes its sessions up again",
            ),
        }
    }
}

impl fmt::Display for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Detached => "detached",
            Self::Unit => "user unit",
            Self::LastSession => "user unit until the last session ends",
            Self::Connection => "attached to the connection",
        })
    }
}

/// Lists the ways that may work on a host, best first. The last one always does, where anything runs at all.
#[must_use]
pub fn ladder(probe: &Probe) -> Vec<Rung> {
    let Probe { login, system, .. } = probe;
    let System { lingering, .. } = system;
    if !login.ends_processes() {
        return vec![Rung::Detach, Rung::Attach];
    }
    let unit = Rung::Unit { linger: !lingering };
    let units = login.user_manager.then_some(unit);
    units.into_iter().chain([Rung::Attach]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fence::Fence;

    fn login(lines: &str) -> LoginManager {
        let text: String = lines.lines().map(|line| format!("F {line}\n")).collect();
        LoginManager::read(&Answer::parse(&Fence::from_word("F"), text.as_bytes()))
    }

    /// `ann`, logged in through a session.
    fn ann(lines: &str) -> LoginManager {
        login(&format!("user 616e6e\nsession yes\n{lines}"))
    }

    #[test]
    fn only_sessions_of_users_that_are_meant_are_ended() {
        let check = |lines: &str, want: bool| assert_eq!(ann(lines).ends_processes(), want, "{lines}");
        check("", false);
        check("logind KillUserProcesses=no", false);
        check("logind KillUserProcesses=yes", true);
        check("logind KillUserProcesses=true", true);
        check("logind KillUserProcesses=perhaps", false);
        check(
            "logind KillUserProcesses=yes\nlogind KillExcludeUsers=root ann",
            false,
        );
        check("logind KillUserProcesses=yes\nlogind KillExcludeUsers=root", true);
        check("logind KillUserProcesses=yes\nlogind KillOnlyUsers=bob", false);
        check("logind KillUserProcesses=yes\nlogind KillOnlyUsers=bob ann", true);
        check("logind KillUserProcesses=yes\nlogind KillOnlyUsers=", true);
        // A drop-in file after the main one.
        check("logind KillUserProcesses=no\nlogind KillUserProcesses=yes", true);
        // A server that makes no sessions ends none.
        assert!(!login("user 616e6e\nlogind KillUserProcesses=yes").ends_processes());
    }

    #[test]
    fn the_ladder_has_the_best_way_first_and_always_an_end() {
        let check = |login: &LoginManager, lingering: bool, want: &[Rung]| {
            let probe = Probe {
                login: login.clone(),
                system: System {
                    lingering,
                    ..System::default()
                },
                ..Probe::default()
            };
            assert_eq!(ladder(&probe), want, "{login:?} {lingering}");
        };
        let kills = "logind KillUserProcesses=yes";
        check(&ann(""), false, &[Rung::Detach, Rung::Attach]);
        check(&ann("manager yes"), true, &[Rung::Detach, Rung::Attach]);
        check(&ann(kills), false, &[Rung::Attach]);
        check(&ann(kills), true, &[Rung::Attach]);
        let managed = ann(&format!("{kills}\nmanager yes"));
        check(&managed, false, &[Rung::Unit { linger: true }, Rung::Attach]);
        check(&managed, true, &[Rung::Unit { linger: false }, Rung::Attach]);
    }

    #[test]
    fn whoever_is_told_something_is_told_what_it_means() {
        assert_eq!(Stay::Detached.notice(), None);
        for stay in [Stay::Unit, Stay::LastSession, Stay::Connection] {
            assert!(stay.notice().is_some_and(|text| text.contains("agent")), "{stay}");
        }
    }
}
