//! The laptop's SSH agent, lent to tools on the host. Both are one machine here, so each test looks at which socket is
//! used: the agent's own one is in a folder that nothing on the host is told of.

use std::path::PathBuf;

use rustix::process::Signal;
use scripted_model::{Reply, Scenario};
use serde_json::{Value, json};
use transport::testing::KeyAgent;

use crate::rig::{HostOptions, Ran, Rig, Streaming, edit, ended, eventually, send_signal};

/// A rig whose laptop has an SSH agent with the key that opens the host.
struct Lending {
    rig: Rig,
    agent: KeyAgent,
    _folder: tempfile::TempDir,
}

impl Lending {
    async fn new(sshd: &[&str]) -> Self {
        let host = HostOptions {
            sshd: sshd.iter().map(|&line| line.to_owned()).collect(),
            ..HostOptions::installed()
        };
        let rig = Rig::new(Scenario::default(), host).await;
        let folder = tempfile::tempdir().unwrap();
        let agent = KeyAgent::start(folder.path()).await.unwrap();
        agent.add(&rig.identity()).await.unwrap();
        let lending = Self {
            rig,
            agent,
            _folder: folder,
        };
        lending.change("workspace = ", "forward_agent = true\nworkspace = ");
        lending
    }

    /// Changes the laptop's configuration.
    fn change(&self, from: &str, to: &str) {
        edit(&self.rig.laptop().join(".reasonix/config.toml"), from, to);
    }

    fn command(&self, args: &[&str]) -> tokio::process::Command {
        let mut command = self.rig.command(args);
        command.env("SSH_AUTH_SOCK", self.agent.socket());
        command
    }

    /// Runs a turn with one command on the host. Gives what it printed, and the run.
    async fn turn(&self, script: &str) -> (String, Ran) {
        let call = Reply::new().call("bash", &json!({"command": script}));
        self.rig.model.push(call);
        self.rig.model.push(Reply::new().say("Done."));
        let args = ["run", "--remote", "box", "do it"];
        let ran = ended(&args, self.command(&args).output()).await;
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let requests = self.rig.model.requests();
        (requests.last().unwrap().tool_results().pop().unwrap(), ran)
    }

    /// Starts a front end that stays connected, and waits until it is.
    async fn stay(&self) -> Streaming {
        let connected = Streaming::follow(self.command(&["remote", "connect", "box", "--no-screen"]));
        eventually("the connection", || {
            connected.stderr().contains("Ctrl-C hangs up")
        })
        .await;
        connected
    }

    /// Gives the place that the daemon names.
    fn place(&self) -> PathBuf {
        let daemon = self.rig.daemon().unwrap();
        daemon["key_agent_socket"].as_str().unwrap().into()
    }

    /// Uses the key in every way: lists it, and logs in to the host's own sshd with it.
    fn uses(&self) -> String {
        format!(
            "echo \"at=$SSH_AUTH_SOCK\"; ssh-add -l; ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null -o IdentityFile=none -p {} 127.0.0.1 echo logged in",
            self.rig.sshd.address().port()
        )
    }

    fn used(&self, printed: &str) {
        let at = format!("at={}\n", self.place().display());
        let parts = [at.as_str(), "(ED25519)", "logged in"];
        assert!(parts.iter().all(|part| printed.contains(part)), "{printed}");
    }
}

/// Says whether it names an agent and what becomes of asking it; the time limit tells a hang apart.
const ASKS: &str = "echo \"at=${SSH_AUTH_SOCK-nowhere}\"; timeout 20 ssh-add -l; echo \"status=$?\"";

fn had_none(printed: &str) {
    // 2: there is no agent to ask.
    assert!(
        printed.contains("at=nowhere\n") && printed.contains("status=2"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_use_the_key_while_the_laptop_is_there_and_after_a_reconnect() {
    let lending = Lending::new(&[]).await;
    let mut staying = lending.stay().await;
    assert_ne!(lending.place(), lending.agent.socket());
    // The run is another front end: the first one goes on lending, and the second is told.
    let (printed, ran) = lending.turn(&lending.uses()).await;
    lending.used(&printed);
    let told = ["your SSH agent is not lent to box", "in use"];
    assert!(
        told.iter().all(|part| ran.stderr.contains(part)),
        "{}",
        ran.stderr
    );

    let listed = lending
        .rig
        .run(&["remote", "forward", "ls", "box", "--json"])
        .await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let rules = listed["connections"][0]["forwards"].as_array().unwrap();
    let place = lending.place().display().to_string();
    let rule = rules
        .iter()
        .find(|rule| rule["rule"].as_str().unwrap().contains(&place));
    assert!(
        rule.unwrap()["total"].as_u64() >= Some(2),
        "each use is counted: {listed}"
    );

    let before = lending.rig.proxy.connections();
    lending.rig.proxy.cut();
    eventually("a new connection", || lending.rig.proxy.connections() > before).await;
    let socket = lending.place();
    eventually("the socket to be back", || {
        std::os::unix::net::UnixStream::connect(&socket).is_ok()
    })
    .await;
    let (printed, _) = lending.turn(&lending.uses()).await;
    lending.used(&printed);

    // Nobody lends one: what was there before is gone at once.
    lending.change("forward_agent = true\n", "");
    send_signal(staying.child.id().unwrap(), Signal::INT);
    staying.child.wait().await.unwrap();
    eventually("the socket to go", || !lending.place().exists()).await;
    had_none(&lending.turn(ASKS).await.0);
    // Who kept the path is refused at once as well.
    let kept = format!("SSH_AUTH_SOCK={place} timeout 20 ssh-add -l; echo \"status=$?\"");
    let (printed, _) = lending.turn(&kept).await;
    assert!(printed.contains("status=2"), "{printed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confined_command_reaches_it_with_and_without_the_network() {
    let lending = Lending::new(&[]).await;
    let config = lending.rig.host().join(".reasonix/config.toml");
    edit(&config, "bash = \"off\"", "bash = \"enforce\"");
    // The first command of a turn finds it, though the front end has only just come.
    let script = format!("{}; touch {}/x", lending.uses(), "$(dirname $SSH_AUTH_SOCK)");
    let (printed, _) = lending.turn(&script).await;
    lending.used(&printed);
    assert!(printed.contains("Read-only file system"), "{printed}");

    edit(
        &config,
        "bash = \"enforce\"",
        "bash = \"enforce\"\nnetwork = false",
    );
    let (printed, _) = lending.turn(&lending.uses()).await;
    assert!(
        printed.contains("(ED25519)") && !printed.contains("logged in"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_runs_the_host_can_forbid_it() {
    let lending = Lending::new(&["AllowAgentForwarding no"]).await;
    let (printed, ran) = lending.turn(ASKS).await;
    had_none(&printed);
    let told = "your SSH agent is not lent to box: its sshd does not allow it (AllowAgentForwarding";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_cannot_be_asked_gets_none() {
    // The agent's socket is reached by the only session there is.
    let lending = Lending::new(&["MaxSessions 1", "AllowStreamLocalForwarding no"]).await;
    let (printed, ran) = lending.turn(ASKS).await;
    had_none(&printed);
    assert!(
        ran.stderr.contains("could not be asked") && ran.stderr.contains("MaxSessions"),
        "{}",
        ran.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_there_is_none() {
    let lending = Lending::new(&[]).await;
    lending.change("forward_agent = true\n", "");
    let (printed, ran) = lending.turn(ASKS).await;
    had_none(&printed);
    assert!(!ran.stderr.contains("SSH agent"), "{}", ran.stderr);

    // A laptop without an agent says so.
    lending.change("workspace = ", "forward_agent = true\nworkspace = ");
    lending.rig.model.push(Reply::new().say("Done."));
    let ran = lending.rig.run(&["run", "--remote", "box", "do it"]).await;
    assert!(
        ran.stderr.contains("there is none here: neither SSH_AUTH_SOCK"),
        "{}",
        ran.stderr
    );
}
