//! Is there a program and an agent, or could there be.

use protocol::VersionRange;

use super::{Class, Examined, Facts, Finding, Grade, Place, Trial, bytes};
use crate::{
    artifact::Artifact,
    error::ErrorKind,
    plan::{self, Install, Request},
    probe::{Daemon, Installed, Probe, Proof},
};

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let serves = serving(facts.probe, facts.protocol);
    let mut found = places(facts, serves.is_some());
    found.push(installed(facts, serves));
    found.push(agent(facts));
    found
}

/// Finds an installed program that speaks one of these protocol versions.
#[must_use]
pub fn serving(probe: &Probe, protocol: VersionRange) -> Option<&Installed> {
    let speaks = |program: &&Installed| {
        let range = program.protocol();
        range.is_some_and(|range| range.common(protocol).is_some())
    };
    probe.installed.iter().find(speaks)
}

/// Judges the folders for programs. They matter less where a program is there already.
fn places(facts: &Facts<'_>, is_there: bool) -> Vec<Finding> {
    let Some(examined) = facts.examined else {
        return Vec::new();
    };
    let need = facts.offer.ok().map(|artifact| artifact.size().saturating_mul(2));
    let takes = |place: &&Place| matches!(place.trial, Trial::Runs | Trial::Untried);
    let roomy = |place: &&Place| place.free.is_none_or(|free| free >= need.unwrap_or(0));
    let chosen = examined.places.iter().filter(takes).find(roomy);
    // What is passed over is worth a word; what comes after the chosen one is not.
    let passed = examined.places.iter().take_while(|place| Some(*place) != chosen);
    let serious = match (chosen, is_there || facts.install == Install::Never) {
        (None, false) => None,
        _ => Some(Grade::Note),
    };
    let mut found: Vec<Finding> = passed.map(|place| refused(facts, place, need, serious)).collect();
    match chosen {
        Some(place) => found.push(taken(place, need)),
        None if serious.is_none() => found.push(nowhere(examined)),
        None => {}
    }
    found
}

fn taken(place: &Place, need: Option<u64>) -> Finding {
    let runs = if place.trial == Trial::Runs {
        "programs run in"
    } else {
        "not tried:"
    };
    let free = place
        .free
        .map(|free| format!(", {} free", bytes(free)))
        .unwrap_or_default();
    let need = need
        .map(|need| format!(", {} needed for an upload", bytes(need)))
        .unwrap_or_default();
    Finding::new("folder", Grade::Ok, format!("{runs} {}{free}{need}", place.path))
}

fn refused(facts: &Facts<'_>, place: &Place, need: Option<u64>, grade: Option<Grade>) -> Finding {
    let grade = grade.unwrap_or(Grade::Warning);
    let path = &place.path;
    let host = facts.host;
    let free = place.free.unwrap_or(0);
    match &place.trial {
        Trial::NoExec(said) => {
            Finding::new("folder", grade, format!("programs do not run in {path}: {said}"))
                .why("its disk is mounted noexec, or a security module forbids it")
                .fix(format!(
                    "ssh {host} findmnt -T {} names the mount; sudo mount -o remount,exec MOUNT changes it",
                    parent(path)
                ))
        }
        Trial::Full(said) => Finding::new("folder", grade, format!("{path} is full: {said}"))
            .why(missing(need, free))
            .fix(format!(
                "ssh {host} df -h {} shows the disk; free some space there",
                parent(path)
            )),
        Trial::Refused(said) => Finding::new("folder", grade, format!("{path} takes no programs: {said}"))
            .fix(format!("ssh {host} ls -ld {}", parent(path))),
        Trial::Runs | Trial::Untried => {
            let text = format!("{path} has too little room: {} free", bytes(free));
            Finding::new("folder", grade, text)
                .why(missing(need, free))
                .fix(format!(
                    "ssh {host} df -h {} shows the disk; free some space there",
                    parent(path)
                ))
        }
    }
}

fn missing(need: Option<u64>, free: u64) -> String {
    let Some(need) = need else {
        return "a program must fit in there".to_owned();
    };
    let missing = need.saturating_sub(free);
    format!(
        "an upload needs {} for a moment, {} more than there is",
        bytes(need),
        bytes(missing)
    )
}

/// Gives a folder that is likely to be there.
fn parent(path: &str) -> &str {
    let up = path
        .strip_suffix("/.reasonix/bin")
        .or_else(|| path.strip_suffix("/.cache/reasonix/bin"));
    up.or_else(|| path.rsplit_once('/').map(|(up, _)| up))
        .filter(|up| !up.is_empty())
        .unwrap_or("/")
}

fn nowhere(examined: &Examined) -> Finding {
    let text = match examined.places.len() {
        0 => "there is no folder for programs".to_owned(),
        count => format!("none of {count} folders takes a program"),
    };
    Finding::new("folder", Grade::Problem(Class::Bootstrap), text)
        .why("an agent is a program that must be put somewhere and run")
        .fix("mend one of the folders above, or set REASONIX_HOME on the host to a folder in which programs may run")
}

fn installed(facts: &Facts<'_>, serves: Option<&Installed>) -> Finding {
    let others = facts.probe.installed.len();
    let parts = match facts.probe.parts.len() {
        0 => String::new(),
        count => format!("; {count} unfinished upload(s), the next one goes on from there"),
    };
    let ours = |artifact: &Artifact| {
        facts
            .probe
            .installed
            .iter()
            .any(|program| program.name() == artifact.name())
    };
    match (serves, facts.offer) {
        (_, Ok(artifact)) if ours(artifact) => Finding::new(
            "program",
            Grade::Ok,
            format!("this very build is there, one of {others}{parts}"),
        ),
        (Some(program), _) => {
            let version = program.version().unwrap_or("unknown");
            let finding = Finding::new(
                "program",
                Grade::Ok,
                format!("{} (version {version}){parts}", program.path),
            );
            if version == facts.version {
                finding
            } else {
                Finding {
                    grade: Grade::Note,
                    ..finding
                }
                .why(format!("this program is version {}", facts.version))
                .fix(format!("reasonix remote upgrade {}", facts.host))
            }
        }
        (None, _) if facts.install == Install::Never => Finding::new(
            "program",
            Grade::Problem(Class::Bootstrap),
            "none that this program can talk to",
        )
        .why("`install = \"never\"` is configured for this host")
        .fix("set install = \"auto\" for this host, or put `reasonix` on its PATH"),
        (None, Ok(artifact)) => {
            let text = format!("none yet; connecting uploads {}{parts}", bytes(artifact.size()));
            Finding::new("program", Grade::Ok, text)
        }
        (None, Err(reason)) => no_build(reason),
    }
}

fn no_build(reason: &ErrorKind) -> Finding {
    Finding::new(
        "program",
        Grade::Problem(Class::Bootstrap),
        format!("none, and none to upload: {reason}"),
    )
    .why("an agent for that kind of host is needed")
    .fix("put a build for it into REASONIX_DIST/<target>/reasonix, or install reasonix on the host's PATH")
}

fn agent(facts: &Facts<'_>) -> Finding {
    let request = Request {
        install: Install::Auto,
        version: facts.version.to_owned(),
        protocol: facts.protocol,
    };
    let is_ours = |daemon: &&Daemon| {
        daemon
            .home
            .as_ref()
            .is_some_and(|home| facts.probe.home.contains(home))
    };
    let ours: Vec<&Daemon> = facts.probe.daemons.iter().filter(is_ours).collect();
    let running = ours.iter().filter(|daemon| daemon.proof == Proof::Runs);
    let draining = running
        .clone()
        .filter(|daemon| daemon.hello.as_ref().is_some_and(|hello| hello.draining));
    if let Some(hello) = plan::attachable(facts.probe, &request) {
        let (pid, version) = (hello.identity.pid, &hello.build.version);
        let text = format!("runs: process {pid}, version {version}");
        return match draining.count() {
            0 => Finding::new("agent", Grade::Ok, text),
            count => Finding::new(
                "agent",
                Grade::Note,
                format!("{text}; {count} older one(s) finish their turns"),
            ),
        };
    }
    let finish = draining.count();
    if finish > 0 {
        return Finding::new(
            "agent",
            Grade::Note,
            format!("{finish} older one(s) finish their turns; connecting starts a new one"),
        );
    }
    if running.count() > 0 {
        return Finding::new(
            "agent",
            Grade::Warning,
            "one runs that speaks no protocol version of this program",
        )
        .why("connecting cannot use it, and starts none beside it")
        .fix(format!("reasonix remote upgrade {}", facts.host));
    }
    let stale = ours.iter().filter(|daemon| daemon.proof == Proof::Gone).count();
    if stale > 0 {
        return Finding::new(
            "agent",
            Grade::Note,
            "none runs; one that ended left its run directory",
        )
        .why("the next one takes it over");
    }
    Finding::new("agent", Grade::Ok, "none runs; connecting starts one")
}
