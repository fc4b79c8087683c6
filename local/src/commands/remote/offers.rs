//! What begins to listen on a host while somebody is connected and looks.

use std::{collections::BTreeSet, time::Duration};

use link::{Link, LinkState};
use protocol::ListeningPort;

use crate::{ask::visible, terminal};

/// How often the host is asked.
const EVERY: Duration = Duration::from_secs(3);
/// So many are named that listened before; a busy host has dozens.
const AT_FIRST: usize = 3;

/// Says once for each port that it listens and how it is forwarded, until the link is closed or the agent cannot tell.
pub(super) async fn follow(link: Link) {
    let mut told: Option<BTreeSet<u16>> = None;
    let mut states = link.states();
    loop {
        if states.wait_for(LinkState::is_live).await.is_err() {
            return;
        }
        match link.unforwarded_ports().await {
            Ok(Some(ports)) => {
                for line in news(link.host(), &ports, &mut told) {
                    terminal::error(&visible(&line));
                }
            }
            Ok(None) => return,
            // The link says what is wrong with it.
            Err(error) => tracing::debug!(%error, "what listens on the host could not be seen"),
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Gives the lines about ports that were not told of (pure). What listened at first is told of in short.
fn news(host: &str, ports: &[ListeningPort], told: &mut Option<BTreeSet<u16>>) -> Vec<String> {
    let is_first = told.is_none();
    let known = told.get_or_insert_default();
    let fresh: Vec<&ListeningPort> = ports.iter().filter(|port| known.insert(port.port)).collect();
    let named = if is_first { AT_FIRST } else { usize::MAX };
    let mut lines: Vec<String> = fresh.iter().take(named).map(|port| line(host, port)).collect();
    let more = fresh.len().saturating_sub(named);
    if more > 0 {
        lines.push(format!(
            "{more} more port(s) listen on {host}: reasonix remote forward ls {host}"
        ));
    }
    lines
}

fn line(host: &str, port: &ListeningPort) -> String {
    let by = match &port.process {
        Some(process) => format!(" ({})", process.name),
        None => String::new(),
    };
    format!(
        "port {}{by} listens on {host}; forward it: reasonix remote forward add {host} {}",
        port.port,
        link::rule_for(port)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_is_told_of_once_and_a_busy_host_in_short() {
        let ports = |numbers: &[u16]| -> Vec<ListeningPort> {
            let port = |&port| ListeningPort {
                port,
                host: "127.0.0.1".to_owned(),
                public: false,
                process: Some(protocol::PortProcess {
                    pid: 7,
                    name: "node".to_owned(),
                }),
            };
            numbers.iter().map(port).collect()
        };
        let mut told = None;
        let lines = news("box", &ports(&[3000, 3001, 3002, 3003, 3004]), &mut told);
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[0],
            "port 3000 (node) listens on box; forward it: reasonix remote forward add box 3000"
        );
        assert!(lines[3].starts_with("2 more port(s)"), "{}", lines[3]);
        assert!(news("box", &ports(&[3000, 3004]), &mut told).is_empty());
        let lines = news("box", &ports(&[80, 3000]), &mut told);
        assert_eq!(
            lines,
            ["port 80 (node) listens on box; forward it: reasonix remote forward add box 8080:127.0.0.1:80"]
        );
    }
}
