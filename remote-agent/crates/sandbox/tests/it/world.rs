//! A workspace, a place outside it, and a sandbox.

use std::{ffi::OsStr, fs, path::Path, time::Duration};

use sandbox::{
    Backend, Command, Environment, Locales, Mode, Outcome, Policy, RunOptions, Sandbox, SandboxError,
    SandboxOptions, Shell,
};
use stdx::{AbsPath, task::Scope};
use tokio_util::sync::CancellationToken;

pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Nothing in these tests should take this long; it only keeps a failure from hanging.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) workspace: AbsPath,
    pub(crate) outside: AbsPath,
    pub(crate) sandbox: Sandbox,
    _folder: tempfile::TempDir,
}

impl World {
    /// Makes a world with whatever confines on this host.
    pub(crate) async fn new() -> Self {
        Self::with(Backend::probe(OsStr::new(PATH)).await)
    }

    pub(crate) fn with(backend: Backend) -> Self {
        // Not in /tmp, which confined commands cannot see.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        for name in ["workspace", "outside", "tmp"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let sandbox = Sandbox::new(SandboxOptions {
            backend,
            shell: Shell::find(OsStr::new(PATH)),
            temp_parent: root.resolve("tmp"),
            scope: Scope::root("test"),
        });
        let (workspace, outside) = (root.resolve("workspace"), root.resolve("outside"));
        Self {
            workspace,
            outside,
            sandbox,
            _folder: folder,
        }
    }

    /// Says whether commands can be confined here. Where they cannot, it checks that they are refused; in CI they must
    /// be, or the tests would pass without having looked.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test binary is its own composition root"
    )]
    pub(crate) async fn confines(&self) -> bool {
        if matches!(self.sandbox.backend(), Backend::Bubblewrap(_)) {
            return true;
        }
        let refused = self
            .try_run(&self.policy(Mode::WorkspaceWrite), "touch ran")
            .await;
        assert!(
            matches!(refused, Err(SandboxError::Unavailable { .. })),
            "{refused:?}"
        );
        assert!(!self.workspace.join("ran").exists());
        assert!(
            std::env::var_os("CI").is_none(),
            "commands cannot be confined here: is bubblewrap installed, and are user namespaces allowed?"
        );
        false
    }

    pub(crate) fn policy(&self, mode: Mode) -> Policy {
        Policy::new(mode, self.workspace.clone())
    }

    pub(crate) async fn run(&self, mode: Mode, script: &str) -> Outcome {
        self.try_run(&self.policy(mode), script).await.unwrap()
    }

    pub(crate) async fn try_run(&self, policy: &Policy, script: &str) -> Result<Outcome, SandboxError> {
        self.run_with(policy, script, RunOptions::new(CancellationToken::new()))
            .await
    }

    pub(crate) async fn run_with(
        &self,
        policy: &Policy,
        script: &str,
        options: RunOptions,
    ) -> Result<Outcome, SandboxError> {
        let run = self
            .sandbox
            .run(Command::new(script, environment()), policy, options);
        tokio::time::timeout(DEADLINE, run).await.unwrap()
    }
}

pub(crate) fn environment() -> Environment {
    let base = [
        ("PATH", PATH),
        ("HOME", "/nonexistent"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
    ];
    Environment::new(
        base.map(|(name, value)| (name.into(), value.into())),
        &Locales::from_names(["C.utf8"]),
    )
}

/// Finds the live processes whose command line holds `mark`.
pub(crate) fn running(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark)
    })
    .collect()
}

/// Waits until `condition` holds.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = stdx::clock::monotonic() + DEADLINE;
    while !condition() {
        assert!(stdx::clock::monotonic() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Gives a number of seconds for `sleep` that no other test uses, to recognise the process by.
pub(crate) fn unique_sleep() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!(
        "3600.{}{:04}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

pub(crate) fn write(path: impl AsRef<Path>, content: &str) {
    fs::write(path, content).unwrap();
}
