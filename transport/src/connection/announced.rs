//! What learning a host's other keys needs of a connection.

use std::sync::{Arc, Weak};

use russh::keys::PublicKey;

use super::{Connection, Inner};

/// A connection that is not kept open by it.
pub(crate) struct WeakConnection(Weak<Inner>);

impl WeakConnection {
    pub(crate) fn upgrade(&self) -> Option<Connection> {
        self.0.upgrade().map(Connection)
    }
}

impl Connection {
    pub(crate) fn downgrade(&self) -> WeakConnection {
        WeakConnection(Arc::downgrade(&self.0))
    }

    /// Lets the host prove that it owns these keys (hostkeys-prove-00@openssh.com): one signature each over the session,
    /// all of which are checked. RSA keys sign with SHA-2 or not at all.
    pub(crate) async fn prove(&self, keys: Vec<PublicKey>) -> Result<(), russh::Error> {
        self.0.handle.hostkeys_prove(keys).await
    }

    /// Gives the keys that the host announced, once it did; waits for ever where it does not.
    pub(crate) fn announced(&self) -> impl Future<Output = Option<Vec<PublicKey>>> + Send + use<> {
        let mut announced = self.0.reports.announced();
        async move {
            let keys = announced.wait_for(Option::is_some).await.ok()?;
            keys.clone()
        }
    }
}
