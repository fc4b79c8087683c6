//! Looks at and changes the forwards of the host, beside the screen.

use std::time::Duration;

use link::{AgentLink, Link};

use crate::overlays::{PortsAsk, PortsNews, Said};

/// How long the host may take to say what listens there.
const LOOK: Duration = Duration::from_secs(5);

/// Does what is wanted and looks what there is then. Without a host there is nothing.
pub(crate) async fn perform(link: AgentLink, ask: PortsAsk) -> PortsNews {
    let AgentLink::Remote(link) = link else {
        return PortsNews {
            forwards: Vec::new(),
            ports: Ok(None),
            said: None,
        };
    };
    let said = match ask {
        PortsAsk::Look => None,
        PortsAsk::Add(rule) => Some(add(&link, &rule).await),
        PortsAsk::Remove(id) => Some(match link.forwards().remove(id).await {
            true => Said::Done(format!("{id} is closed")),
            false => refused(format!("{id} is gone already"), None),
        }),
    };
    let ports = look(&link).await;
    PortsNews {
        forwards: link.forwards().list(),
        ports,
        said,
    }
}

async fn look(link: &Link) -> Result<Option<Vec<protocol::ListeningPort>>, String> {
    if !link.states().borrow().is_live() {
        return Err("what listens there is seen when the host is connected".to_owned());
    }
    match tokio::time::timeout(LOOK, link.unforwarded_ports()).await {
        Ok(Ok(ports)) => Ok(ports),
        Ok(Err(error)) => Err(format!("what listens there could not be seen: {error}")),
        Err(_) => Err("what listens there could not be seen in time".to_owned()),
    }
}

async fn add(link: &Link, rule: &str) -> Said {
    let spec = match link::read_rule(rule) {
        Ok(spec) => spec,
        Err(error) => return refused(chain(&error), error.hint()),
    };
    if spec.is_public() {
        let message = format!(
            "{spec} is not opened: other machines could use it, and this screen cannot ask for consent"
        );
        let host = link.host();
        let hint =
            format!("in another terminal: reasonix remote forward add {host} {rule} --allow-public-bind");
        return refused(message, Some(hint));
    }
    match link.forwards().add(spec.clone()).await {
        Ok(id) => {
            let rules = link.forwards().list();
            let bound = rules
                .iter()
                .find(|rule| rule.id == id)
                .map(|rule| rule.bound.to_string());
            Said::Done(format!(
                "{id} listens at {}",
                bound.unwrap_or_else(|| spec.bind.to_string())
            ))
        }
        Err(error) => {
            let instead = link::rule_instead(&spec, &error);
            Said::Refused {
                message: chain(&error),
                hint: error.hint(),
                instead,
            }
        }
    }
}

fn refused(message: String, hint: Option<String>) -> Said {
    Said::Refused {
        message,
        hint,
        instead: None,
    }
}

/// Writes an error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
