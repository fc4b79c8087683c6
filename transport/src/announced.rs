//! Learning the other keys of a host: it announces them after the login (OpenSSH, PROTOCOL, section 2.5,
//! hostkeys-00@openssh.com), proves that it owns them, and they are listed in our own file. A rotation that was announced
//! then needs no question.
//!
//! It happens beside the work, in a task of the connection: nobody waits for it, and a failure changes nothing.

use std::{path::PathBuf, sync::Arc, time::Duration};

use russh::keys::PublicKey;

use crate::{
    Connection,
    connection::WeakConnection,
    handler::Presented,
    host_key::{KnownHost, Verdict, is_offered},
    known_hosts::own::{Change, Others, change},
};

/// How long the host may take for its proof.
const PATIENCE: Duration = Duration::from_secs(30);
/// A host with more keys than these is not believed.
const MOST: usize = 32;

/// Who vouched for the key that a host presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vouched {
    /// The known-hosts files alone, or somebody for one connection.
    Before,
    /// A person, or the policy for new hosts, for all time; it is listed in our file since.
    JustNow,
}

/// What may be learned over a connection.
pub(crate) struct Learning {
    file: PathBuf,
    known: Arc<KnownHost>,
    /// The key that the host presented in the key exchange.
    current: PublicKey,
    /// Whether keys of ours that are not announced any more go.
    forgets: bool,
}

impl Learning {
    /// Decides whether anything may be learned. A key that nobody vouched for just now has to be known already, by its own
    /// line for exactly this host. A host that is known by a certificate, a pattern or an entry of the administrator
    /// teaches nothing, as for OpenSSH.
    pub(crate) fn new(
        file: PathBuf,
        known: &Arc<KnownHost>,
        presented: Presented,
        vouched: Vouched,
        has_alias: bool,
    ) -> Option<Self> {
        let listed = presented.judged.verdict == Verdict::Known && known.lists_exactly(&presented.key);
        let learning = Self {
            file,
            known: Arc::clone(known),
            current: presented.key,
            // Several machines may share an alias, and each of them announces its own keys only.
            forgets: listed && !has_alias,
        };
        ((listed || vouched == Vouched::JustNow) && !known.has_authority()).then_some(learning)
    }

    /// Picks the keys that the host has to prove, and those that stay listed. `None`: there is nothing to believe.
    fn plan(&self, mut announced: Vec<PublicKey>) -> Option<Plan> {
        announced.retain(is_offered);
        let has =
            |keys: &[PublicKey], key: &PublicKey| keys.iter().any(|other| other.key_data() == key.key_data());
        let twice = announced.iter().enumerate().any(|(index, key)| {
            announced
                .iter()
                .skip(index + 1)
                .any(|other| other.key_data() == key.key_data())
        });
        if announced.len() > MOST || twice || !has(&announced, &self.current) {
            return None;
        }
        let new: Vec<_> = announced
            .iter()
            .filter(|key| !self.known.lists_exactly(key) && !has(std::slice::from_ref(&self.current), key))
            .filter(|key| !matches!(self.known.judge(key), Verdict::Revoked(_)))
            .cloned()
            .collect();
        Some(Plan { new, announced })
    }
}

struct Plan {
    new: Vec<PublicKey>,
    announced: Vec<PublicKey>,
}

/// Starts learning in the scope of the connection.
pub(crate) fn start(connection: &Connection, learning: Learning) {
    let (weak, announced) = (connection.downgrade(), connection.announced());
    let closed = connection.closed();
    // Owned by the scope, which ends with the connection.
    drop(connection.scope().spawn(async move {
        let announced = tokio::select! {
            biased;
            _cause = closed => return,
            announced = announced => announced,
        };
        if let Some(plan) = announced.and_then(|announced| learning.plan(announced)) {
            learn(&weak, learning, plan).await;
        }
    }));
}

async fn learn(connection: &WeakConnection, learning: Learning, plan: Plan) {
    if !plan.new.is_empty() {
        let Some(connection) = connection.upgrade() else {
            return;
        };
        let proven = tokio::time::timeout(PATIENCE, connection.prove(plan.new.clone())).await;
        if !matches!(proven, Ok(Ok(()))) {
            return;
        }
    }
    let written = stdx::task::blocking(move || {
        let others = if learning.forgets {
            Others::GoUnless(&plan.announced)
        } else {
            Others::Stay
        };
        let wanted = Change {
            listed_as: learning.known.listed_as(),
            add: &plan.new,
            others,
        };
        if plan.new.is_empty() && !learning.file.exists() {
            return Ok(());
        }
        change(&learning.file, &wanted).map(drop)
    });
    // Where it cannot be written, the keys are learned another time.
    drop(written.await);
}
