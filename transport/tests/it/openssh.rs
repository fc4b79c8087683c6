//! OpenSSH's client as the judge of host keys.

use std::net::SocketAddr;

use crate::support::{Client, run};

/// Says whether `ssh` connects under `StrictHostKeyChecking yes` with the user's known-hosts file of this client.
pub(crate) async fn connects(client: &Client, address: SocketAddr, options: &[&str]) -> bool {
    let known = format!("UserKnownHostsFile={}", client.path("known_hosts").display());
    let (key, port) = (
        client.path("id").display().to_string(),
        address.port().to_string(),
    );
    let mut args = vec![
        "-F",
        "none",
        "-o",
        "BatchMode=yes",
        "-o",
        "StrictHostKeyChecking=yes",
    ];
    args.extend([
        "-o",
        &known,
        "-o",
        "GlobalKnownHostsFile=/dev/null",
        "-o",
        "UpdateHostKeys=no",
    ]);
    args.extend(["-o", "IdentitiesOnly=yes", "-i", &key, "-p", &port]);
    for option in options {
        args.extend(["-o", option]);
    }
    args.extend(["127.0.0.1", "true"]);
    run("ssh", &args, client.folder.path()).await.0
}

/// Signs a copy of a public key; gives the path of the certificate. `args` are for `ssh-keygen`, such as `-n name`.
pub(crate) async fn sign(
    client: &Client,
    authority: &str,
    args: &[&str],
    public: &str,
    name: &str,
) -> String {
    let copy = client.path(&format!("{name}.pub"));
    std::fs::write(&copy, format!("{public}\n")).unwrap();
    let mut all = vec!["-q", "-s", authority, "-I", name];
    all.extend(args);
    let file = copy.display().to_string();
    all.push(&file);
    let (ok, said) = run("ssh-keygen", &all, client.folder.path()).await;
    assert!(ok, "ssh-keygen {all:?}: {said}");
    client.path(&format!("{name}-cert.pub")).display().to_string()
}
