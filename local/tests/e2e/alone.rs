//! The program in a folder that is its whole world: no library, no shell, no certificate, no user database.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Stdio};

use scripted_model::{Scenario, ScriptedModel};
use serde_json::json;

use crate::{
    local_rig::{only_line, sound},
    rig::{Ran, ended, program},
};

/// The user and group `nobody`, as numbers: there is no file that would know the name.
const NOBODY: &str = "65534:65534";

/// A root folder with nothing in it but the program.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("rx-e2e-").tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let own = dir.path().join("reasonix");
        fs::copy(program(), &own).unwrap();
        fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
        let world = Self(dir);
        world.copy_libraries();
        world
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A debug build wants the C library; the static program, which is what CI tests, wants nothing.
    fn copy_libraries(&self) {
        let listed = stdx::process::blocking_command("ldd")
            .arg(program())
            .stdout(Stdio::piped())
            .output()
            .unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        for library in listed.split_whitespace().filter(|word| word.starts_with('/')) {
            let place = self.path().join(library.trim_start_matches('/'));
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(library, place).unwrap();
        }
    }

    /// Runs the program as nobody, with this folder as root and home.
    async fn run(&self, args: &[&str]) -> Ran {
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = stdx::process::command("chroot");
            command.arg(format!("--userspec={NOBODY}"));
            command
        } else {
            // Only root may change the root folder; in a user namespace everybody is root of what is theirs.
            let mut command = stdx::process::command("unshare");
            command.args(["--map-root-user", "chroot"]);
            command
        };
        command.arg(self.path()).arg("/reasonix").args(args);
        command
            .env("HOME", "/")
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null());
        sound(ended(args, command.output()).await)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_needs_no_other_file_and_no_privilege() {
    let world = World::new();
    let version = world.run(&["--version"]).await;
    assert_eq!(version.code, Some(0), "{version:#?}");
    assert!(version.stdout.contains("protocol 1"), "{version:#?}");

    let scenario = Scenario::new()
        .call("write_file", &json!({"path": "made.txt", "content": "alone\n"}))
        .call("read_file", &json!({"path": "made.txt"}))
        .say("Done.");
    let model = ScriptedModel::start(scenario).await.unwrap();
    let base_url = model.base_url();
    let config = format!(
        "default_model = \"scripted\"\n[[providers]]\nname = \"scripted\"\nbase_url = \"{base_url}\"\nmodel = \"m\"\n"
    );
    let (state, work) = (world.path().join(".reasonix"), world.path().join("work"));
    for folder in [&state, &work] {
        fs::create_dir(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    }
    fs::write(state.join("config.toml"), config).unwrap();

    let args = ["run", "--dir", "/work", "--output-format", "json", "make a file"];
    let ran = world.run(&args).await;
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(only_line(&ran)["result"], "Done.", "{ran:#?}");
    assert_eq!(fs::read_to_string(work.join("made.txt")).unwrap(), "alone\n");
}
