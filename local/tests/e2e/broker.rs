//! Model access through the laptop: the host has no key, and the vendor is asked from here.

mod cuts;
mod parked;
mod refused;
mod scan;
mod shown;

use std::fs;

use protocol::SessionId;
use scripted_model::Scenario;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::rig::{HostOptions, Rig, edit};

/// The name of the key in `.env`.
const ENTRY: &str = "RX_BROKER_KEY";

/// A host without a key, and a laptop that has it and asks the model for the host.
struct Brokered {
    rig: Rig,
    key: String,
}

impl Brokered {
    async fn new(scenario: Scenario, host: HostOptions) -> Self {
        let rig = Rig::new(scenario, host).await;
        let key = format!("sk-rx-{}", SessionId::fresh());
        let named = format!("model = \"m\"\napi_key_env = \"{ENTRY}\"");
        for home in [rig.laptop(), rig.host()] {
            edit(&home.join(".reasonix/config.toml"), "model = \"m\"", &named);
        }
        let brokered = Self { rig, key };
        brokered.change("workspace = ", "credentials = \"broker\"\nworkspace = ");
        fs::write(
            brokered.rig.laptop().join(".reasonix/.env"),
            format!("{ENTRY}={}\n", brokered.key),
        )
        .unwrap();
        brokered
    }

    /// Changes the laptop's configuration.
    fn change(&self, from: &str, to: &str) {
        edit(&self.rig.laptop().join(".reasonix/config.toml"), from, to);
    }

    /// Sets a key of the host in the laptop's configuration.
    fn set(&self, setting: &str) {
        let line = format!("credentials = \"broker\"\n{setting}");
        self.change("credentials = \"broker\"", &line);
    }

    /// The vendor was asked so often, each time with the key, and understood everything.
    fn asked(&self, times: usize) {
        let requests = self.rig.model.requests();
        assert_eq!(requests.len(), times);
        let digest = Sha256::digest(format!("Bearer {}", self.key));
        let bearer: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        for request in &requests {
            assert_eq!(request.authorization.as_deref(), Some(bearer.as_str()));
        }
        assert_eq!(self.rig.model.refusals(), [""; 0]);
    }

    /// Gives another folder of settings on the laptop, of somebody who has no keys and lets the host use its own.
    fn onlooker(&self) -> std::path::PathBuf {
        let (own, other) = (
            self.rig.laptop().join(".reasonix"),
            self.rig.laptop().join("other"),
        );
        fs::create_dir_all(&other).unwrap();
        for file in ["config.toml", "known_hosts"] {
            fs::copy(own.join(file), other.join(file)).unwrap();
        }
        edit(&other.join("config.toml"), "credentials = \"broker\"\n", "");
        other
    }
}

/// Gives the texts of the answers among printed lines.
fn answers(lines: &[Value]) -> Vec<String> {
    lines
        .iter()
        .map(|line| &line["event"])
        .filter(|event| event["topic"] == "turn" && event["type"] == "assistant")
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect()
}

/// Counts events of a kind among printed lines.
fn count(lines: &[Value], kind: &str) -> usize {
    let of_kind = |line: &&Value| line["event"]["topic"] == "turn" && line["event"]["type"] == kind;
    lines.iter().filter(of_kind).count()
}
