//! The trait through which this crate asks a person. It never opens a dialog and never reads a terminal itself.

use std::{future::Future, path::PathBuf, pin::Pin};

use stdx::Secret;

/// What the methods of [`Prompter`] return.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Somebody who can answer questions while a connection is made.
///
/// Every default answer is the closed one, so an implementation for a place without a person is empty: [`DenyAll`].
pub trait Prompter: Send + Sync {
    /// Decides about a host key that nobody vouched for yet. Never called for a changed or revoked key.
    fn host_key<'a>(&'a self, question: &'a HostKeyQuestion) -> Answer<'a, HostKeyAnswer> {
        let _unread = question;
        Box::pin(std::future::ready(HostKeyAnswer::Refuse))
    }

    /// Asks for a secret; `None` means that nobody is there or that the person declined.
    fn secret<'a>(&'a self, question: &'a SecretQuestion) -> Answer<'a, Option<Secret>> {
        let _unread = question;
        Box::pin(std::future::ready(None))
    }

    /// Asks a yes-or-no question.
    fn confirm<'a>(&'a self, question: &'a str) -> Answer<'a, bool> {
        let _unread = question;
        Box::pin(std::future::ready(false))
    }

    /// Shows a text of the host, such as the banner before login, or that a security key waits to be touched. Untrusted:
    /// strip control characters before display.
    fn notice(&self, text: &str) {
        let _unread = text;
    }

    /// Shows what a host says of itself, such as its banner: words that could read like ours, so that whoever prints
    /// them says whose they are. Untrusted as well.
    fn banner(&self, host: &str, text: &str) {
        let _known_by_the_screen = host;
        self.notice(text);
    }
}

/// Answers every question with no.
#[derive(Clone, Copy, Debug, Default)]
pub struct DenyAll;

impl Prompter for DenyAll {}

/// An unknown host key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostKeyQuestion {
    /// The host as the user named it.
    pub host: String,
    /// The name under which known-hosts files would list it, such as `[10.0.0.1]:2222`.
    pub listed_as: String,
    /// The algorithm, such as `ssh-ed25519`.
    pub algorithm: String,
    /// The fingerprint, `SHA256:…`.
    pub fingerprint: String,
    /// Keys of other algorithms that are known for this host. Not empty means: be more careful than for a new host.
    pub known_otherwise: Vec<KnownKey>,
}

/// A line of a known-hosts file, as shown to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownKey {
    /// The algorithm.
    pub algorithm: String,
    /// The fingerprint, `SHA256:…`.
    pub fingerprint: String,
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
}

/// The decision about an unknown host key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKeyAnswer {
    /// Trust it and write it to our own known-hosts file.
    Remember,
    /// Trust it for this connection.
    Once,
    /// Do not connect.
    Refuse,
}

/// What kind of secret is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// The password of the account.
    Password,
    /// The passphrase of a key file.
    Passphrase {
        /// The key file.
        file: PathBuf,
    },
    /// A prompt of the host (keyboard-interactive); may be a one-time code. Never kept.
    Challenge,
}

/// A question for a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretQuestion {
    /// The kind.
    pub kind: SecretKind,
    /// The host as the user named it.
    pub host: String,
    /// What to show before the input field. For a challenge it comes from the host: untrusted.
    pub label: String,
    /// Text of the host that explains the question; may be empty. Untrusted.
    pub instructions: String,
    /// Whether the typed text may be shown.
    pub echo: bool,
    /// How often this was asked, counted from 1: above 1 the last answer was wrong (or the host goes on asking).
    pub round: u32,
}
