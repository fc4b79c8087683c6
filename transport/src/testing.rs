//! Servers and networks to test against: an embedded SSH server, an own instance of OpenSSH's `sshd`, an agent, and a
//! proxy that breaks links.
//!
//! The embedded server is also the host of the demo, so it needs nothing but a POSIX shell.

mod accounts;
mod agent;
mod choices;
mod fault_proxy;
mod keys;
pub mod promises;
mod security_key;
mod server;
mod server_channel;
mod server_login;
mod sshd;

use std::{io, time::Duration};

pub use accounts::{PamService, TestAccount};
pub use agent::KeyAgent;
pub use choices::Choices;
pub use fault_proxy::{Fault, FaultKind, FaultProxy, Plan, Side, Step};
pub use keys::{KeyKind, KeyPair};
pub use security_key::{SecurityKeyAgent, SecurityKeyKind, Touch};
pub use server::{Forwarding, TestServer, TestServerOptions};
pub use server_login::{LoginStep, Question};
pub use sshd::{RealSshd, SshdOptions, login_shell_wrapper};

/// Asks `ready` again and again until it gives a value.
///
/// # Errors
/// `TimedOut`, naming `what`, when 20 s have passed.
pub async fn wait_until<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut ready: impl FnMut() -> F,
) -> io::Result<T> {
    let poll = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        loop {
            ticks.tick().await;
            if let Some(value) = ready().await {
                return value;
            }
        }
    };
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, format!("waited 20 s for {what}"));
    tokio::time::timeout(Duration::from_secs(20), poll)
        .await
        .map_err(late)
}
