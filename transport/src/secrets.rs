//! Secrets typed once, kept in memory so that a reconnect does not ask again.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use stdx::Secret;

/// A shared memory of passwords and passphrases, wiped when the last handle goes.
///
/// One-time codes never get in here. A caller that has a password from elsewhere puts it in before connecting.
#[derive(Clone, Debug, Default)]
pub struct SecretMemory(Arc<Mutex<HashMap<Key, Secret>>>);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Password { user: String, host: String, port: u16 },
    Passphrase(PathBuf),
}

impl SecretMemory {
    /// Keeps the password of an account.
    pub fn remember_password(&self, user: &str, host: &str, port: u16, secret: Secret) {
        self.put(
            Key::Password {
                user: user.into(),
                host: host.into(),
                port,
            },
            secret,
        );
    }

    /// Keeps the passphrase of a key file.
    pub fn remember_passphrase(&self, file: &Path, secret: Secret) {
        self.put(Key::Passphrase(file.to_owned()), secret);
    }

    /// Says whether the password of an account is kept.
    pub(crate) fn has_password(&self, user: &str, host: &str, port: u16) -> bool {
        let key = Key::Password {
            user: user.into(),
            host: host.into(),
            port,
        };
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.contains_key(&key)
    }

    /// Wipes everything.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Takes the password out; the caller puts it back when it was right.
    pub(crate) fn take_password(&self, user: &str, host: &str, port: u16) -> Option<Secret> {
        self.take(&Key::Password {
            user: user.into(),
            host: host.into(),
            port,
        })
    }

    /// Takes the passphrase out; the caller puts it back when it was right.
    pub(crate) fn take_passphrase(&self, file: &Path) -> Option<Secret> {
        self.take(&Key::Passphrase(file.to_owned()))
    }

    fn put(&self, key: Key, secret: Secret) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, secret);
    }

    fn take(&self, key: &Key) -> Option<Secret> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }
}
