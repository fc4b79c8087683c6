//! System, shell, clock, tools, sandbox, proxies.

use super::{Class, Facts, Finding, Git, Grade};
use crate::{
    ladder::{self, Rung},
    probe::Workspace,
    script::Carriage,
};

/// A clock that differs by more makes time stamps misleading, in seconds.
const SKEW_SEEN: i64 = 5;
/// A clock that differs by more breaks TLS and logins elsewhere, in seconds.
const SKEW_BAD: i64 = 300;

pub(super) fn judge(facts: &Facts<'_>) -> Vec<Finding> {
    let mut found = vec![system(facts), shell(facts)];
    found.extend(noise(facts));
    found.extend(clock(facts));
    found.push(tools(facts));
    found.push(sandbox(facts));
    found.push(after_logout(facts));
    found.extend(proxies(facts));
    found.push(workspace(facts));
    found
}

fn system(facts: &Facts<'_>) -> Finding {
    let system = &facts.probe.system;
    let mut text = format!("{} {}", system.os, system.arch);
    for more in [&system.kernel, &system.libc] {
        if !more.is_empty() {
            text.push_str(", ");
            text.push_str(more);
        }
    }
    if facts.offer.is_ok() {
        return Finding::new("system", Grade::Ok, text);
    }
    // Whether that is a problem depends on what is installed, which `programs` says.
    Finding::new(
        "system",
        Grade::Note,
        format!("{text}; there is no build for it here"),
    )
}

fn shell(facts: &Facts<'_>) -> Finding {
    let probe = facts.probe;
    let shell = if probe.system.shell.is_empty() {
        "the login shell"
    } else {
        &probe.system.shell
    };
    let took = probe.exchange.took.as_millis();
    match probe.carriage {
        Carriage::Input => Finding::new(
            "commands",
            Grade::Ok,
            format!("{shell} runs them ({took} ms for all questions)"),
        ),
        Carriage::CommandLine => Finding::new(
            "commands",
            Grade::Note,
            format!("{shell} runs them, but their input does not arrive, or there is no dd"),
        )
        .why("scripts go into the command line, and programs over sftp")
        .fix(format!(
            "see what a start-up file of the shell reads: ssh {} 'cat /dev/null; echo ok'",
            facts.host
        )),
    }
}

fn noise(facts: &Facts<'_>) -> Option<Finding> {
    let exchange = &facts.probe.exchange;
    let (first, place) = match (exchange.noise.first(), exchange.stderr_noise.first()) {
        (Some(line), _) => (line, "standard output"),
        (None, Some(line)) => (line, "standard error"),
        (None, None) => return None,
    };
    let text = format!("start-up files write to {place} of every command: {first:?}");
    let finding = Finding::new("noise", Grade::Note, text);
    Some(finding.why("it does not matter here; it breaks scp and sftp where it is on standard output"))
}

fn clock(facts: &Facts<'_>) -> Option<Finding> {
    let skew = facts.probe.exchange.skew?;
    let way = if skew < 0 { "behind" } else { "ahead of" };
    let text = format!("{} s {way} this machine", skew.unsigned_abs());
    Some(match skew.abs() {
        0..=SKEW_SEEN => Finding::new("clock", Grade::Ok, "agrees with this machine"),
        seen if seen <= SKEW_BAD => {
            Finding::new("clock", Grade::Note, text).why("time stamps of the log differ by that")
        }
        _ => Finding::new("clock", Grade::Warning, text)
            .why("certificates of the model's endpoint may be taken for expired or not yet valid")
            .fix(format!("ssh -t {} sudo timedatectl set-ntp true", facts.host)),
    })
}

fn tools(facts: &Facts<'_>) -> Finding {
    let tools = &facts.probe.tools;
    let list = tools.found.join(", ");
    let Some(hash) = &tools.hash else {
        return Finding::new(
            "tools",
            Grade::Problem(Class::Bootstrap),
            "none of sha256sum, shasum and openssl",
        )
        .why("an upload cannot be verified")
        .fix(format!("ssh -t {} sudo apt-get install coreutils", facts.host));
    };
    let text = if list.is_empty() {
        hash.clone()
    } else {
        format!("{hash}, {list}")
    };
    if !tools.has("zstd") && !tools.has("gzip") {
        return Finding::new("tools", Grade::Note, format!("{text}; neither zstd nor gzip"))
            .why("an upload goes uncompressed, about two and a half times as many bytes")
            .fix(format!("ssh -t {} sudo apt-get install zstd", facts.host));
    }
    Finding::new("tools", Grade::Ok, text)
}

fn sandbox(facts: &Facts<'_>) -> Finding {
    let isolation = &facts.probe.isolation;
    let host = facts.host;
    let why = "commands of the model do not run there while `[sandbox] bash` is `enforce`, the default; \
               files can be read and edited";
    match &isolation.bubblewrap {
        Some(Ok(())) => Finding::new("sandbox", Grade::Ok, "bubblewrap confines commands"),
        Some(Err(said)) => {
            let fix = match &isolation.user_namespaces {
                Some(Err(_)) => format!(
                    "ssh -t {host} sudo sysctl -w kernel.unprivileged_userns_clone=1 \
                                         kernel.apparmor_restrict_unprivileged_userns=0 user.max_user_namespaces=15000"
                ),
                _ => format!("ssh {host} bwrap --unshare-user --ro-bind / / true"),
            };
            let text = format!("bubblewrap is installed and does not run: {said}");
            Finding::new("sandbox", Grade::Warning, text).why(why).fix(fix)
        }
        None => Finding::new("sandbox", Grade::Warning, "bubblewrap is not installed")
            .why(why)
            .fix(format!("ssh -t {host} sudo apt-get install bubblewrap")),
    }
}

fn after_logout(facts: &Facts<'_>) -> Finding {
    let (host, user) = (facts.host, &facts.probe.login.user);
    let ends = "the host ends what a login leaves (KillUserProcesses)";
    match ladder::ladder(facts.probe).first() {
        Some(Rung::Unit { linger: false }) => Finding::new(
            "logout",
            Grade::Ok,
            format!("{ends}; the agent is a unit of your service manager there, and lingering is on"),
        ),
        Some(Rung::Unit { linger: true }) => Finding::new(
            "logout",
            Grade::Note,
            format!("{ends}; the agent is a unit of your service manager there, and lingering is asked for"),
        )
        .why("without lingering it ends with the last session there")
        .fix(format!("ssh {host} loginctl enable-linger")),
        Some(Rung::Attach) => {
            let text =
                format!("{ends}, and no service manager of yours answers: the agent lives on the connection");
            Finding::new("logout", Grade::Warning, text)
                .why("a lost connection interrupts the running turn; the next one takes the session up again")
                .fix(format!("ssh -t {host} sudo loginctl enable-linger {user}"))
        }
        Some(Rung::Detach) | None => {
            Finding::new("logout", Grade::Ok, "the agent goes on after the last logout")
        }
    }
}

fn proxies(facts: &Facts<'_>) -> Option<Finding> {
    let names = &facts.probe.system.proxies;
    (!names.is_empty()).then(|| {
        Finding::new(
            "proxies",
            Grade::Note,
            format!("{} are set there", names.join(", ")),
        )
        .why("the agent asks the model through them")
    })
}

fn workspace(facts: &Facts<'_>) -> Finding {
    let Some(workspace) = &facts.probe.workspace else {
        return Finding::new("workspace", Grade::Note, "no workspace is named")
            .why("a new session needs a folder to work in")
            .fix(format!(
                "name one each time, as in `reasonix --remote {}:~/project`, or set `workspace` of the host in \
                 config.toml",
                facts.host
            ));
    };
    let Workspace::Ready(path) = workspace else {
        let fix = match workspace {
            Workspace::Missing(path) => format!("ssh {} mkdir -p {}", facts.host, quoted(path)),
            _ => format!("name another one: reasonix --remote {}:FOLDER", facts.host),
        };
        let finding = Finding::new("workspace", Grade::Problem(Class::Usage), workspace.to_string());
        return finding
            .why("a session works in a folder that is there and may be entered")
            .fix(fix);
    };
    match facts.examined.and_then(|examined| examined.git.as_ref()) {
        Some(Git::Tree) => Finding::new("workspace", Grade::Ok, format!("{path}, under git")),
        Some(Git::Refused(said)) => {
            Finding::new("workspace", Grade::Warning, format!("{path}; git says: {said}"))
                .why("the model sees no history and no diff")
                .fix(format!(
                    "ssh {} git config --global --add safe.directory {}",
                    facts.host,
                    quoted(path)
                ))
        }
        Some(Git::Missing) => Finding::new("workspace", Grade::Note, format!("{path}; git is not installed"))
            .why("the model sees no history and no diff"),
        Some(Git::NoTree) => Finding::new("workspace", Grade::Ok, format!("{path}, not under git")),
        None => Finding::new("workspace", Grade::Ok, path.clone()),
    }
}

/// Writes a path for two shells: ours takes off the double quotes, the host's the single ones.
pub(super) fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+~".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("\"'{}'\"", path.replace('\'', "'\\''"))
    }
}
