//! Puts the right `reasonix` onto a host and starts, or finds, its daemon.
//!
//! Everything goes through [`Remote`], which runs one command on the host; [`SshRemote`] is the real one. Commands
//! are plain enough for any login shell: a small fixed command line starts `/bin/sh`, which takes the actual script
//! from standard input, and every answer line carries a random fence, so that banners and start-up output do not
//! matter. Where standard input does not reach commands, the script goes into the command line and the program over
//! SFTP. Steps run strictly one after another, since a host may allow one session at a time.
//!
//! ```text
//! probe ──► plan (pure) ──► install ──► launch ──► Ready
//!   │                                     ▲
//!   └── a daemon runs that we can talk to ─┘ (attach)
//! ```
//!
//! | I want to… | Open |
//! | --- | --- |
//! | follow the whole way | [`ensure`] in `execute.rs` |
//! | see what is asked of the host | `probe.rs`, `probe/facts.rs`, `scripts/probe.sh` |
//! | change what is decided | `plan.rs`, `prune.rs`, `platform.rs` |
//! | change how the program is carried over | `install.rs`, `payload.rs`, `scripts/install.sh` |
//! | change what is judged, and the advice | [`doctor`] |
//! | change how the daemon is started or reached | `launch.rs`, `bridge.rs` |
//! | change how it is kept running when the user logs out | [`ladder()`] in `ladder.rs`, `scripts/launch.sh` |
//! | change what is taken off a host again | [`uninstall()`] |
//! | skip all of it on the next visit | `last_visit.rs` |

mod answer;
mod artifact;
mod asking;
mod bridge;
pub mod doctor;
mod error;
mod execute;
mod fence;
mod install;
mod ladder;
mod last_visit;
mod launch;
pub mod layout;
mod machine;
mod payload;
mod plan;
mod platform;
mod probe;
mod progress;
mod prune;
mod remote;
mod script;
mod ssh;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod uninstall;

pub use artifact::{Artifact, ArtifactError, ArtifactSource};
pub use bridge::{BridgeCall, BridgeReader, End, Verdict, bridge_call};
pub use error::{Error, ErrorKind, Scarce, Stage, StorageError};
pub use execute::{Arrival, Ready, Wanted, Wish, ensure};
pub use fence::Fence;
pub use ladder::{LoginManager, Rung, Stay, ladder};
pub use last_visit::{LastVisit, Next, Reply, Via, next};
pub use machine::Known;
pub use plan::{Install, InstallStep, Request, Step, attachable, plan};
pub use platform::{Target, UnknownPlatform};
pub use probe::{
    Ask, Daemon, Directory, Exchange, Installed, Isolation, Part, Probe, Proof, Quota, RefusedDirectory,
    Storage, System, Tools, Workspace, Write, probe,
};
pub use progress::{Progress, Silent, Update};
pub use remote::{BoxFuture, Deadline, Exec, Output, Put, Remote, RemoteError, Status};
pub use script::{Carriage, for_printf};
pub use ssh::SshRemote;
pub use uninstall::{Item, ItemKind, Kept, Removal, Uninstall, uninstall};
