//! What can go wrong before the server runs.

/// The scripted model could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The listener could not be made or asked for its address.
    #[error("could not listen on loopback")]
    Listen(#[source] std::io::Error),
    /// The scenario text is not a scenario.
    #[error("could not read the scenario")]
    Scenario(#[source] serde_json::Error),
}
