//! A workspace with tools around it.

use std::{ffi::OsStr, fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc, time::Duration};

use conversation::CallOutcome;
use sandbox::{Backend, Environment, Locales, Mode, Policy, Sandbox, SandboxOptions, Shell};
use serde_json::Value;
use stdx::{AbsPath, task::Scope};
use tokio_util::sync::CancellationToken;
use tools::{
    FileAccess, NoCopies, Observed, Registry, ShellContext, ShellState, Subject, ToolContext, ToolResult,
    WriteScope,
};

pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Nothing in these tests should take this long; it only keeps a failure from hanging.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    pub(crate) cx: ToolContext,
    pub(crate) root: AbsPath,
    registry: Registry,
    _folder: tempfile::TempDir,
}

impl World {
    /// Makes an empty workspace, with `outside` beside it, where commands run unconfined.
    pub(crate) fn new() -> Self {
        Self::with(Backend::None("not probed".into()), Mode::Unconfined)
    }

    /// Makes a world whose commands are confined, if the host can do that.
    pub(crate) async fn confined() -> Option<Self> {
        match Backend::probe(OsStr::new(PATH)).await {
            Backend::None(_) => None,
            backend => Some(Self::with(backend, Mode::WorkspaceWrite)),
        }
    }

    pub(crate) fn with(backend: Backend, mode: Mode) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = AbsPath::new(folder.path().canonicalize().unwrap()).unwrap();
        for name in ["workspace", "outside", "tmp"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        let workspace = root.resolve("workspace");
        let sandbox = Sandbox::new(SandboxOptions {
            backend,
            shell: Shell::find(OsStr::new(PATH)),
            temp_parent: root.resolve("tmp"),
            scope: Scope::root("test"),
        });
        let home = root.resolve("outside").into_path_buf().into_os_string();
        let base = [("PATH".into(), PATH.into()), ("HOME".into(), home)];
        let shell = ShellContext {
            sandbox: Arc::new(sandbox),
            policy: Policy::new(mode, workspace.clone()),
            environment: Environment::new(base, &Locales::default()),
            state: Arc::new(ShellState::new(root.resolve("tmp"))),
            time_limit: Some(DEADLINE),
            key_agent: None,
        };
        let cx = ToolContext {
            files: FileAccess {
                write: WriteScope::Roots(vec![workspace.clone()]),
                protected: Vec::new(),
                forbid_read: Vec::new(),
            },
            workspace,
            observed: Arc::new(Observed::new()),
            copies: Arc::new(NoCopies),
            shell,
            response: None,
            live: None,
            token: CancellationToken::new(),
        };
        Self {
            cx,
            root,
            registry: Registry::with_builtin(),
            _folder: folder,
        }
    }

    pub(crate) async fn call(&self, tool: &str, args: Value) -> ToolResult {
        let (tool, args) = self.registry.check(tool, &args.to_string()).unwrap();
        tokio::time::timeout(DEADLINE, tool.run(args, &self.cx))
            .await
            .unwrap()
    }

    /// Calls a tool that must succeed.
    pub(crate) async fn ok(&self, tool: &str, args: Value) -> String {
        let result = self.call(tool, args).await;
        assert_eq!(result.outcome, CallOutcome::Ok, "{}", result.content);
        result.content
    }

    /// Calls a tool that must fail with a text that holds `want`.
    pub(crate) async fn fails(&self, tool: &str, args: Value, want: &str) -> String {
        let result = self.call(tool, args).await;
        assert_eq!(result.outcome, CallOutcome::Failed, "{}", result.content);
        assert!(
            result.content.starts_with("error: ") && result.content.contains(want),
            "{}",
            result.content
        );
        result.content
    }

    pub(crate) fn subjects(&self, tool: &str, args: &Value) -> Vec<Subject> {
        self.registry.find(tool).unwrap().subjects(args, &self.cx)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.cx.workspace.resolve(name).to_string()
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.cx.workspace.resolve(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.cx.workspace.resolve(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.cx.workspace.resolve(name)).unwrap();
    }

    pub(crate) fn chmod(&self, name: &str, mode: u32) {
        fs::set_permissions(self.cx.workspace.resolve(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.cx.workspace.resolve(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    }
}
