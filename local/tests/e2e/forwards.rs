//! Forwards of a connection: flags, configuration, changed live by other processes, refused, public, and what listens.

use std::{fs, os::unix::fs::PermissionsExt as _, time::Duration};

use rustix::process::Signal;
use scripted_model::Scenario;
use serde_json::Value;
use stdx::task::Scope;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStderr},
};

use crate::{
    rig::{DEADLINE, HostOptions, Ran, Rig, send_signal},
    screen::rig::Terminal,
};

async fn within<T>(part: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, part).await.unwrap()
}

async fn rig(sshd: &[&str]) -> Rig {
    let host = HostOptions {
        sshd: sshd.iter().map(|&line| line.to_owned()).collect(),
        ..HostOptions::installed()
    };
    Rig::new(Scenario::default(), host).await
}

/// A server that says back what it hears, as long as its scope is held; and its port.
async fn echo() -> (Scope, u16) {
    let scope = Scope::root("echo");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let inner = scope.clone();
    scope.spawn(async move {
        while let Some(Ok((mut stream, _))) = inner.token().run_until_cancelled(listener.accept()).await {
            inner.spawn(async move {
                let (mut from, mut to) = stream.split();
                drop(tokio::io::copy(&mut from, &mut to).await);
            });
        }
    });
    (scope, port)
}

/// Gives a port that was free a moment ago.
async fn free() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}

/// Says something through a stream and hears it again.
async fn hears(stream: &mut TcpStream, text: &str) {
    let heard = within(async {
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut heard = vec![0; text.len()];
        stream.read_exact(&mut heard).await.map(|_| heard)
    });
    assert_eq!(String::from_utf8(heard.await.unwrap()).unwrap(), text);
}

async fn echoes(port: u16) {
    let mut stream = within(TcpStream::connect(("127.0.0.1", port))).await.unwrap();
    hears(&mut stream, "hello").await;
}

/// Connects through a SOCKS5 proxy (RFC 1928).
async fn socks(proxy: u16, port: u16) -> TcpStream {
    let mut stream = within(TcpStream::connect(("127.0.0.1", proxy))).await.unwrap();
    let asking = async {
        stream.write_all(&[5, 1, 0]).await.unwrap();
        let mut method = [0; 2];
        stream.read_exact(&mut method).await.unwrap();
        assert_eq!(method, [5, 0]);
        let mut request = vec![5, 1, 0, 1, 127, 0, 0, 1];
        request.extend(port.to_be_bytes());
        stream.write_all(&request).await.unwrap();
        let mut reply = [0; 10];
        stream.read_exact(&mut reply).await.unwrap();
        assert_eq!(reply[1], 0, "{reply:?}");
    };
    within(asking).await;
    stream
}

/// A `remote connect` that runs.
struct Connection {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
    said: String,
}

impl Connection {
    /// Starts it and waits until it is connected.
    async fn open(rig: &Rig, args: &[&str]) -> Self {
        let all = [&["remote", "connect", "box", "--no-screen"], args].concat();
        let mut child = rig.command(&all).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = String::new();
        let mut connection = Self { child, lines, said };
        connection.until("Ctrl-C hangs up").await;
        connection
    }

    /// Reads until something was said.
    async fn until(&mut self, text: &str) {
        while !self.said.contains(text) {
            let line = tokio::time::timeout(DEADLINE, self.lines.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("{text:?} was never said: {}", self.said));
            let line = line.unwrap();
            self.said
                .push_str(&line.unwrap_or_else(|| panic!("{text:?} was not said: {}", self.said)));
            self.said.push('\n');
        }
    }

    fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }

    async fn hang_up(mut self) {
        send_signal(self.pid(), Signal::INT);
        within(self.child.wait()).await.unwrap();
    }
}

async fn forward(rig: &Rig, args: &[&str]) -> Ran {
    rig.run(&[&["remote", "forward"], args].concat()).await
}

/// Runs a command that has to succeed, and gives what it printed.
async fn done(rig: &Rig, args: &[&str]) -> String {
    let ran = forward(rig, args).await;
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:#?}");
    ran.stdout
}

/// Gives what `ls --json` says of the connections.
async fn connections(rig: &Rig) -> Vec<Value> {
    let text = done(rig, &["ls", "box", "--json"]).await;
    let all: Value = serde_json::from_str(&text).unwrap();
    all["connections"].as_array().unwrap().clone()
}

/// Gives the forward of the oldest connection whose rule has a part.
async fn shown(rig: &Rig, part: &str) -> Option<Value> {
    let all = connections(rig).await;
    let forwards = all.first()?["forwards"].as_array()?.clone();
    forwards
        .into_iter()
        .find(|forward| forward["rule"].as_str().unwrap().contains(part))
}

fn bound(forward: &Value) -> u16 {
    let bound = forward["bound"].as_str().unwrap();
    bound.rsplit(':').next().unwrap().parse().unwrap()
}

fn configure(rig: &Rig, rules: &str) {
    let config = rig.laptop().join(".reasonix/config.toml");
    fs::write(&config, fs::read_to_string(&config).unwrap() + rules).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_is_opened_by_flags_and_by_the_configuration() {
    let rig = rig(&[]).await;
    let (_echoing, echo) = echo().await;
    let [local, socks_here, configured, socks_there] =
        [free().await, free().await, free().await, free().await];
    let socket = rig.laptop().join("near.sock");
    configure(
        &rig,
        &format!(
            "[[remote.hosts.forwards]]\nbind = \"{configured}\"\ntarget = \"{echo}\"\nvia = \"ssh\"\n\
             [[remote.hosts.forwards]]\ntype = \"remote\"\nbind = \"0\"\ntarget = \"{echo}\"\n\
             [[remote.hosts.forwards]]\ntype = \"dynamic\"\nbind = \"{socks_there}\"\nvia = \"agent\"\n\
             [[remote.hosts.forwards]]\nbind = \"{}\"\ntarget = \"{echo}\"\n",
            socket.display()
        ),
    );
    let connection = Connection::open(
        &rig,
        &[
            "-L",
            &format!("{local}:127.0.0.1:{echo}"),
            "-R",
            &format!("0:localhost:{echo}"),
            "-D",
            &socks_here.to_string(),
            "--via",
            "agent",
        ],
    )
    .await;
    for port in [local, configured] {
        echoes(port).await;
    }
    for proxy in [socks_here, socks_there] {
        hears(&mut socks(proxy, echo).await, "through socks").await;
    }
    let mut near = tokio::net::UnixStream::connect(&socket).await.unwrap();
    near.write_all(b"x").await.unwrap();
    assert_eq!(within(near.read_u8()).await.unwrap(), b'x');
    for target in ["R:127.0.0.1:0:localhost", "R:127.0.0.1:0:127.0.0.1"] {
        let rule = shown(&rig, target).await.unwrap_or_else(|| panic!("{target}"));
        assert_eq!(rule["state"], "ready", "{rule}");
        echoes(bound(&rule)).await;
    }
    let configured = shown(&rig, &format!("L:127.0.0.1:{configured}")).await.unwrap();
    assert_eq!(
        (&configured["via"], &configured["total"]),
        (&"ssh".into(), &1.into())
    );
    assert!(configured["sent"].as_u64() >= Some(5), "{configured}");
    let local = shown(&rig, &format!("L:127.0.0.1:{local}")).await.unwrap();
    assert_eq!(local["via"], "agent", "{local}");
    connection.hang_up().await;
    let ended = forward(&rig, &["ls", "box"]).await;
    assert!(ended.stdout.contains("nobody is connected to box"), "{ended:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_adds_ends_and_lists_while_bytes_flow() {
    let rig = rig(&[]).await;
    let (_echoing, echo) = echo().await;
    let first = free().await;
    let connection = Connection::open(&rig, &["-L", &format!("{first}:127.0.0.1:{echo}")]).await;
    let mut open = TcpStream::connect(("127.0.0.1", first)).await.unwrap();
    hears(&mut open, "before").await;

    let added = done(&rig, &["add", "box", &format!("0:127.0.0.1:{echo}"), "D:0"]).await;
    assert!(
        added.contains(&format!("is open in process {}", connection.pid())),
        "{added}"
    );
    let rule = shown(&rig, "L:127.0.0.1:0").await.unwrap();
    echoes(bound(&rule)).await;
    let proxy = shown(&rig, "D:").await.unwrap();
    hears(&mut socks(bound(&proxy), echo).await, "live").await;
    hears(&mut open, "the first one goes on").await;

    let listed = done(&rig, &["ls", "box"]).await;
    for part in [
        "remote connect",
        "#2 L:127.0.0.1:0",
        " at 127.0.0.1:",
        "1 in all",
        "#3 D:127.0.0.1:0",
    ] {
        assert!(listed.contains(part), "{part}: {listed}");
    }
    let gone = bound(&rule);
    let removed = done(&rig, &["rm", "box", "#2", &format!("D:{}", bound(&proxy))]).await;
    assert_eq!(removed.matches("is closed").count(), 2, "{removed}");
    assert!(TcpStream::connect(("127.0.0.1", gone)).await.is_err());
    hears(&mut open, "still").await;
    assert_eq!(
        connections(&rig).await[0]["forwards"].as_array().unwrap().len(),
        1
    );

    // What is wrong is said once, and clearly.
    let check = async |args: &[&str], code: i32, says: &str| {
        let ran = forward(&rig, args).await;
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains(says), "{says}: {ran:#?}");
    };
    check(&["rm", "box", "#9"], 1, "no forward #9 is open to box").await;
    check(&["add", "box", "L:x"], 2, "forward rule \"L:x\"").await;
    check(
        &["add", "box", "3000", "--pid", "1"],
        2,
        "process 1 is not connected",
    )
    .await;
    let same = format!("{first}:127.0.0.1:{echo}");
    check(&["add", "box", &same], 1, "it is open already, as #1").await;
    connection.hang_up().await;
    check(&["add", "box", "3000"], 1, "reasonix remote connect box").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_on_the_host_that_another_front_end_has_is_said_to_be_that() {
    let rig = rig(&[]).await;
    let (_echoing, echo) = echo().await;
    let rule = format!("{}:127.0.0.1:{echo}", free().await);
    let mut older = Connection::open(&rig, &["-R", &rule]).await;
    older.until(&format!("forward R:127.0.0.1:{rule}")).await;
    let mut newer = Connection::open(&rig, &["-R", &rule]).await;
    newer
        .until(&format!("process {} of yours has it open already", older.pid()))
        .await;
    newer.hang_up().await;
    older.hang_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_front_ends_are_told_apart_and_dead_ones_are_swept() {
    let rig = rig(&[]).await;
    let (_echoing, echo) = echo().await;
    let port = free().await;
    configure(
        &rig,
        &format!("[[remote.hosts.forwards]]\nbind = \"{port}\"\ntarget = \"{echo}\"\n"),
    );
    let older = Connection::open(&rig, &[]).await;
    let mut newer = Connection::open(&rig, &[]).await;
    newer
        .until(&format!("process {} of yours has it open already", older.pid()))
        .await;
    let pids = |all: Vec<Value>| -> Vec<u64> {
        let pids = all.iter().map(|one| one["pid"].as_u64().unwrap());
        pids.collect()
    };
    let both = [u64::from(older.pid()), u64::from(newer.pid())];
    assert_eq!(pids(connections(&rig).await), both);
    let pid = newer.pid().to_string();
    let added = done(
        &rig,
        &["add", "box", &format!("0:127.0.0.1:{echo}"), "--pid", &pid],
    )
    .await;
    assert!(added.contains(&format!("process {pid}")), "{added}");
    let all = connections(&rig).await;
    echoes(bound(&all[1]["forwards"][0])).await;

    // One that is killed leaves its socket, which the next look removes.
    let mut killed = older;
    send_signal(killed.pid(), Signal::KILL);
    within(killed.child.wait()).await.unwrap();
    let links = rig.laptop().join(".reasonix/run/links");
    assert_eq!(fs::read_dir(&links).unwrap().count(), 2);
    assert_eq!(pids(connections(&rig).await), [both[1]]);
    let left: Vec<_> = fs::read_dir(&links)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(left.len(), 1);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&links), mode(&left[0])), (0o700, 0o600));
    newer.hang_up().await;
    assert_eq!(fs::read_dir(&links).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_and_a_public_listener_are_named_and_the_others_go_on() {
    let rig = rig(&[]).await;
    let (_echoing, echo) = echo().await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken_port = taken.local_addr().unwrap().port();
    let [public, good] = [free().await, free().await];
    let rules = [
        format!("{taken_port}:127.0.0.1:{echo}"),
        format!("0.0.0.0:{public}:127.0.0.1:{echo}"),
        format!("{good}:127.0.0.1:{echo}"),
    ];
    let flags: Vec<&str> = rules.iter().flat_map(|rule| ["-L", rule]).collect();
    let connection = Connection::open(&rig, &flags).await;
    for part in [
        format!("forward rule L:127.0.0.1:{taken_port}:127.0.0.1:{echo}: could not listen"),
        format!("(process {})", std::process::id()),
        "is free".to_owned(),
        format!("forward rule L:0.0.0.0:{public}:127.0.0.1:{echo} is not opened: every machine"),
        "--allow-public-bind".to_owned(),
        format!("forward L:127.0.0.1:{good}:"),
    ] {
        assert!(connection.said.contains(&part), "{part}: {}", connection.said);
    }
    assert!(TcpStream::connect(("127.0.0.1", public)).await.is_err());
    echoes(good).await;

    // Asked for live: refused without consent, remembered with it.
    let rule = format!("L:0.0.0.0:{public}:127.0.0.1:{echo}");
    let refused = forward(&rig, &["add", "box", &rule]).await;
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(
        refused.stderr.contains("is not opened: every machine"),
        "{refused:#?}"
    );
    let agreed = forward(&rig, &["add", "box", &rule, "--allow-public-bind"]).await;
    assert!(agreed.stderr.contains("warning: forward rule"), "{agreed:#?}");
    echoes(public).await;
    connection.hang_up().await;
    let file = rig.laptop().join(".reasonix/public-forwards.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // The next connection needs no flag, and still warns.
    let again = Connection::open(&rig, &["-L", &rules[1]]).await;
    assert!(again.said.contains("warning: forward rule"), "{}", again.said);
    echoes(public).await;
    again.hang_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_administrator_forbids_is_named_and_the_agent_carries_the_rest() {
    let rig = rig(&["AllowTcpForwarding no"]).await;
    let (_echoing, echo) = echo().await;
    let by_agent = free().await;
    configure(
        &rig,
        &format!("[[remote.hosts.forwards]]\nbind = \"{by_agent}\"\ntarget = \"{echo}\"\nvia = \"agent\"\n"),
    );
    let mut connection =
        Connection::open(&rig, &["-R", &format!("0:127.0.0.1:{echo}"), "--via", "ssh"]).await;
    connection
        .until(&format!("forward rule R:127.0.0.1:0:127.0.0.1:{echo} via=ssh"))
        .await;
    echoes(by_agent).await;
    connection.hang_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_begins_to_listen_is_offered_until_it_is_forwarded() {
    let rig = rig(&[]).await;
    let mut connection = Connection::open(&rig, &[]).await;
    // The first look was made before this one listens, or names it among the others; `ls` shows each.
    let (_listening, port) = echo().await;
    let offered = async || {
        let all = connections(&rig).await;
        let ports = all[0]["ports"].as_array().cloned().unwrap_or_default();
        ports.into_iter().find(|known| known["port"] == port)
    };
    let known = within(async {
        loop {
            if let Some(known) = offered().await {
                return known;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let known = known.await;
    assert_eq!(known["pid"], std::process::id(), "{known}");
    assert_eq!(known["rule"], port.to_string());
    connection
        .until("listens on box; forward it: reasonix remote forward add box")
        .await;
    let listed = done(&rig, &["ls"]).await;
    assert!(
        listed.contains(&format!("reasonix remote forward add box {port}")),
        "{listed}"
    );

    // Laptop and host are one machine here, so the same port is taken, and said to be.
    let taken = forward(&rig, &["add", "box", &port.to_string()]).await;
    assert!(taken.stderr.contains("could not listen"), "{taken:#?}");
    let added = done(&rig, &["add", "box", &format!("0:127.0.0.1:{port}")]).await;
    assert!(added.contains("is open"), "{added}");
    assert!(offered().await.is_none());
    connection.hang_up().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_saved_for_the_next_connection_and_taken_out_again() {
    let rig = rig(&[]).await;
    let (_echoing, echo) = echo().await;
    let port = free().await;
    let config = rig.laptop().join(".reasonix/config.toml");
    let before = fs::read_to_string(&config).unwrap();
    let rule = format!("{port}:127.0.0.1:{echo}");
    let saved = done(&rig, &["add", "box", &rule, "--save"]).await;
    assert!(saved.contains("written to"), "{saved}");
    let connection = Connection::open(&rig, &[]).await;
    echoes(port).await;
    let removed = done(&rig, &["rm", "box", &rule, "--save"]).await;
    assert!(
        removed.contains("is closed") && removed.contains("taken out of"),
        "{removed}"
    );
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    assert_eq!(fs::read_to_string(&config).unwrap(), before);
    connection.hang_up().await;
    let unknown = forward(&rig, &["add", "nowhere", &rule, "--save"]).await;
    assert!(
        unknown.stderr.contains("no host named \"nowhere\""),
        "{unknown:#?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_is_wrong_ends_the_command_before_anything_is_dialled() {
    let rig = rig(&[]).await;
    let check = async |args: &[&str], says: &str| {
        let ran = rig.run(args).await;
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:#?}");
        assert!(ran.stderr.contains(says), "{says}: {ran:#?}");
        assert!(rig.daemon().is_none(), "{args:?}");
    };
    check(
        &["remote", "connect", "box", "--no-screen", "-R", "80"],
        "forward rule \"R:80\"",
    )
    .await;
    check(
        &["run", "--remote", "box", "-D", "x", "say hello"],
        "forward rule \"D:x\"",
    )
    .await;
    check(
        &["attach", "--remote", "box", "-L", "1", "0198"],
        "forward rule \"L:1\"",
    )
    .await;
    check(&["run", "-L", "1:a:1", "say hello"], "--remote HOST").await;
    check(&["attach", "-D", "1080", "0198"], "--remote HOST").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_forwards_on_the_screen_and_is_asked_at_a_terminal() {
    let rig = rig(&[]).await;
    let (_echoing, echo) = echo().await;
    let screen = Terminal::open(&rig.command(&["--remote", "box"]), 100, 40).await;
    screen.see("ready").await;
    screen.keys(&["F2"]).await;
    screen.see("Ports of box").await;
    screen.see("Enter forward").await;
    screen.keys(&["a"]).await;
    screen.write(&format!("0:127.0.0.1:{echo}")).await;
    screen.keys(&["Enter"]).await;
    screen.see("#1 listens at 127.0.0.1:").await;
    let all = connections(&rig).await;
    assert_eq!(all[0]["front_end"], "screen");
    let port = bound(&all[0]["forwards"][0]);
    echoes(port).await;

    // The port that is taken is asked about where a person can answer; the answer opens another one.
    let taken = format!("{port}:127.0.0.1:{}", free().await);
    let asking = rig.command(&["remote", "forward", "add", "box", &taken]);
    let terminal = Terminal::open(&asking, 100, 24).await;
    terminal.see("instead? [y/N]").await;
    terminal.write("y\r").await;
    terminal.see("#2 L:127.0.0.1:").await;
    assert_eq!(terminal.exit_code().await, 0);

    screen.see("#2 L:127.0.0.1:").await;
    screen.keys(&["Home", "d"]).await;
    screen.see("#1 is closed").await;
    assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());
    // What follows at once would be one key with it.
    screen
        .press_until("Escape", "the list closes", |screen| {
            !screen.contains("Ports of box")
        })
        .await;
    screen.write("/quit\r").await;
    assert_eq!(screen.exit_code().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_cut_listeners_here_were_kept_and_those_there_are_made_again() {
    let rig = rig(&[]).await;
    let (_echoing, echo) = echo().await;
    let near = free().await;
    let (local, remote) = (format!("{near}:127.0.0.1:{echo}"), format!("0:127.0.0.1:{echo}"));
    let mut connection = Connection::open(&rig, &["-L", &local, "-R", &remote]).await;
    rig.proxy.cut();
    connection.until("connected again").await;
    let made_again = within(async {
        loop {
            let rule = shown(&rig, "R:").await.unwrap();
            if rule["state"] == "ready" {
                return bound(&rule);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    echoes(made_again.await).await;
    echoes(near).await;
    connection.hang_up().await;
}
