//! A shell script that stands in for `reasonix` on the host.

use std::{fs, path::PathBuf, sync::Mutex};

use bootstrap::{
    Artifact, ArtifactSource, Error, Install, Progress, Ready, Target, Update, Wanted, Wish, ensure,
};
use protocol::{Build, Hello, Identity, VersionRange};

use crate::host::Host;

pub(crate) const OURS: VersionRange = VersionRange { min: 1, max: 1 };

/// What the stand-in says as a daemon, and as `identity.json` with a home.
pub(crate) fn hello() -> Hello {
    Hello {
        protocol: OURS,
        build: Build {
            version: "0.2.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
        },
        identity: Identity {
            instance: serde_json::from_str("\"01890a5d-ac96-774b-bcce-b302099a8057\"").unwrap(),
            pid: 4242,
            start_time: 1,
            boot_id: String::new(),
            machine: String::new(),
            uid: 0,
            socket: "/run/x/sock".into(),
            program: "/opt/reasonix".into(),
        },
        capabilities: Vec::new(),
        draining: false,
        key_agent_socket: None,
    }
}

/// A stand-in that behaves, of exactly `size` bytes. The filling cannot be compressed much.
pub(crate) fn program(size: usize) -> Vec<u8> {
    let json = serde_json::to_string(&hello()).unwrap();
    program_with(
        &format!("echo noise; printf '%s %s %s\\n' \"$4\" '{json}' \"$4\""),
        size,
    )
}

/// A stand-in whose `serve --detach` is `serve`; `$4` is the fence.
pub(crate) fn program_with(serve: &str, size: usize) -> Vec<u8> {
    let script = format!(
        "#!/bin/sh\ncase $1 in\n--version) echo 'reasonix 0.2.0'; echo 'protocol 1..1' ;;\nserve) {serve}\n;;\nesac\nexit\n"
    );
    let mut content = script.into_bytes();
    assert!(content.len() <= size, "{} bytes are needed", content.len());
    let mut random = Random(size as u64);
    content.resize_with(size, || (random.next() >> 40) as u8);
    content
}

/// A small generator (xorshift64*), so that a seed tells everything.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// Everything to ask for, with the program in a file beside the host.
pub(crate) fn wanted(host: &Host, program: &[u8]) -> Wanted {
    let own_executable = host.dir.path().join("own-executable");
    fs::write(&own_executable, program).unwrap();
    Wanted {
        workspace: None,
        home: None,
        install: Install::Auto,
        protocol: OURS,
        stay: Wish::Any,
        known: None,
        source: ArtifactSource {
            own_executable,
            own_target: Target::own(),
            dist: Vec::new(),
            version: "0.2.0".into(),
        },
    }
}

/// Collects progress.
#[derive(Default)]
pub(crate) struct Log(pub(crate) Mutex<Vec<Update>>);

impl Progress for Log {
    fn update(&self, update: Update) {
        self.0.lock().unwrap().push(update);
    }
}

impl Log {
    /// Offsets that were reported.
    pub(crate) fn offsets(&self) -> Vec<u64> {
        let pick = |update: &Update| match update {
            Update::Uploaded { done, .. } => Some(*done),
            Update::Stage(_) => None,
        };
        self.0.lock().unwrap().iter().filter_map(pick).collect()
    }
}

pub(crate) async fn go(host: &Host, wanted: &Wanted) -> Result<Ready, Error> {
    ensure(host, wanted, &bootstrap::Silent).await
}

/// The final name of a program.
pub(crate) fn name(program: &[u8]) -> String {
    Artifact::new("0.2.0", program.to_vec()).name()
}

/// The final path on a host.
pub(crate) fn path(host: &Host, program: &[u8]) -> PathBuf {
    host.programs().join(name(program))
}
