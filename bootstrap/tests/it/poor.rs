//! Hosts with few tools, or with other ones than a Linux distribution has.

use std::{fs, os::unix::fs::symlink, path::PathBuf, process::Stdio};

use crate::{
    host::{Host, Mounts},
    shells::works,
};

/// What no host of ours can be without.
const HANDFUL: [&str; 15] = [
    "sh",
    "cat",
    "chmod",
    "cp",
    "dd",
    "id",
    "ls",
    "mkdir",
    "mv",
    "od",
    "rm",
    "sha256sum",
    "sleep",
    "tr",
    "uname",
];

fn find(tool: &str) -> PathBuf {
    let folders = ["/usr/bin", "/bin", "/usr/sbin"].map(PathBuf::from);
    let found = folders
        .iter()
        .map(|folder| folder.join(tool))
        .find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{tool} is missing; `cargo xtask test` installs what tests need"))
}

/// A host whose only programs are those in its folder `tools`, made by `fill`.
async fn host_with(fill: impl FnOnce(&Host, PathBuf)) -> (Host, Mounts) {
    let mut host = Host::with_shell("/bin/sh");
    let (tools, none) = (host.dir.path().join("tools"), host.dir.path().join("none"));
    fs::create_dir(&tools).unwrap();
    fs::create_dir(&none).unwrap();
    fill(&host, tools.clone());
    // The last step hides `mount` itself; where `/bin` is a folder of its own it is hidden as well.
    let setup = format!(
        "for f in /usr/sbin /sbin /usr/local/bin /usr/local/sbin; do [ -h $f ] || ! [ -d $f ] || /bin/mount --bind {none} $f; done\n\
         [ -h /bin ] || /bin/mount --bind {tools} /bin\n/usr/bin/mount --bind {tools} /usr/bin",
        none = none.display(),
        tools = tools.display()
    );
    let mounts = Mounts::new(&setup).await;
    host.prefix = mounts.enter.clone();
    (host, mounts)
}

#[tokio::test]
async fn a_handful_of_tools_is_enough() {
    let (host, _mounts) = host_with(|_, tools| {
        for tool in HANDFUL {
            fs::copy(find(tool).canonicalize().unwrap(), tools.join(tool)).unwrap();
        }
    })
    .await;
    // No ps, setsid, stat, mktemp, head, sed, grep, find, df, date, flock, gzip, zstd, getconf, sync.
    works(&host, "handful").await;
}

#[tokio::test]
async fn busybox_is_enough() {
    let (host, _mounts) = host_with(|host, tools| {
        let busybox = host.dir.path().join("busybox");
        fs::copy(find("busybox"), &busybox).unwrap();
        let list = stdx::process::blocking_command(&busybox)
            .arg("--list")
            .stdout(Stdio::piped())
            .output()
            .unwrap();
        for applet in String::from_utf8(list.stdout).unwrap().lines() {
            symlink(&busybox, tools.join(applet)).unwrap();
        }
    })
    .await;
    works(&host, "busybox").await;
    let ready = crate::stand_in::go(
        &host,
        &crate::stand_in::wanted(&host, &crate::stand_in::program(20_000)),
    )
    .await
    .unwrap();
    let tools = ready.probe.tools;
    assert!(
        tools.has("gzip") && tools.has("dd") && !tools.has("zstd"),
        "{tools:?}"
    );
    assert!(ready.probe.directory.unwrap().free.is_some() && ready.probe.system.clock.is_some());
}

#[tokio::test]
async fn other_shells_serve_as_sh() {
    for shell in ["bash", "zsh", "busybox"] {
        let sh = find("sh").canonicalize().unwrap();
        let mounts = Mounts::new(&format!(
            "mount --bind {} {}",
            find(shell).display(),
            sh.display()
        ))
        .await;
        let mut host = Host::with_shell("/usr/bin/fish");
        host.prefix = mounts.enter.clone();
        works(&host, shell).await;
    }
}
