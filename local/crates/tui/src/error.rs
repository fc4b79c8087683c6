//! What can end the screen early.

/// Why the screen could not be shown or had to end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The terminal could not be read, written or switched.
    #[error("could not use the terminal")]
    Terminal(#[source] std::io::Error),
}
