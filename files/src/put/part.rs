//! A half-written file on the host.

use sftp::{
    Client, Code,
    name::{join, split},
};

use crate::{Error, error::Cause, listing, part, transfer::CLEANING};

/// A half-written file on the host. Dropping it asks the host to remove it; [`Part::discard`] also waits for that.
#[derive(Debug)]
pub(super) struct Part {
    client: Client,
    path: Vec<u8>,
    armed: bool,
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.armed {
            self.client.remove_later(&self.path);
        }
    }
}

impl Part {
    pub(super) fn new(client: &Client, path: Vec<u8>) -> Self {
        Self {
            client: client.clone(),
            path,
            armed: true,
        }
    }

    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    /// Removes it.
    pub(super) async fn discard(mut self) {
        self.armed = false;
        // It may never have been made; and a host that does not answer is not waited for.
        drop(tokio::time::timeout(CLEANING, self.client.remove(&self.path)).await);
    }

    /// Puts it in its place: over what is there, or only where nothing is for `fresh`.
    pub(super) async fn place(self, to: &[u8], fresh: bool) -> Result<(), Error> {
        let placed = if fresh {
            self.place_fresh(to).await
        } else if self.client.offers("posix-rename@openssh.com") {
            self.client.replace(&self.path, to).await.map_err(Error::from)
        } else {
            self.place_in_steps(to).await
        };
        match placed {
            Ok(()) => {
                let mut done = self;
                done.armed = false;
                Ok(())
            }
            Err(error) => {
                self.discard().await;
                Err(error)
            }
        }
    }

    async fn place_fresh(&self, to: &[u8]) -> Result<(), Error> {
        let Err(error) = self.client.rename(&self.path, to).await else {
            return Ok(());
        };
        match listing::state(&self.client, to, false).await {
            Ok(Some(found)) => {
                let cause = Cause::Conflict {
                    expected: None,
                    found: Some(found),
                };
                Err(Error::host("write", to, cause))
            }
            Err(lost) if lost.is_lost() => Err(lost),
            _ => Err(error.into()),
        }
    }

    /// For servers that only rename to a name that is free: the old file is put aside first, and back where the new one
    /// cannot take its place. For a moment nothing has the name.
    async fn place_in_steps(&self, to: &[u8]) -> Result<(), Error> {
        match self.client.rename(&self.path, to).await {
            Err(error) if matches!(error.code(), Some(Code(4 | 11))) => {}
            result => return Ok(result?),
        }
        let (folder, name) = split(to);
        let aside = join(folder, &part::name(name, &part::Key::new(name, &[])));
        self.client.rename(to, &aside).await?;
        match self.client.rename(&self.path, to).await {
            Ok(()) => {
                // The new file is in place; what is left has the name of something half-written.
                drop(self.client.remove(&aside).await);
                Ok(())
            }
            Err(error) => {
                // The first failure is the one to tell.
                drop(self.client.rename(&aside, to).await);
                Err(error.into())
            }
        }
    }
}
