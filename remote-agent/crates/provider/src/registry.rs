//! The kinds of providers.

use std::sync::Arc;

use broker::{Desk, SessionId};

use crate::{
    Cause, Error, Options, Provider, brokered::Brokered, http::Http, openai::OpenAi, protocol::Protocol,
    stream::Adapter,
};

/// The kinds that [`build`] knows, for messages and completion.
pub const KINDS: &[&str] = &["openai"];

/// Makes a provider of a kind.
///
/// It costs little and touches neither network nor disk; the HTTP client is made with the first request.
///
/// # Errors
/// [`Cause::Config`] for an unknown kind, a URL that is none, a header that cannot be sent or a reserved body field.
pub fn build(kind: &str, options: Options) -> Result<Arc<dyn Provider>, Error> {
    let protocol = protocol(kind, &options)?;
    let retry = options.retry;
    let http = Http::new(options, &*protocol)?;
    Ok(Arc::new(Adapter::new(protocol, http, retry)))
}

/// Makes a provider of a kind whose requests are parked at a desk for who has the key.
///
/// A key among the options is dropped, and none is looked for. Waiting for a broker costs no attempt and has no limit.
///
/// # Errors
/// As for [`build`]; and a URL that holds a user name.
pub fn build_brokered(
    kind: &str,
    mut options: Options,
    desk: Desk,
    session: SessionId,
) -> Result<Arc<dyn Provider>, Error> {
    options.key = None;
    let protocol = protocol(kind, &options)?;
    let brokered = Brokered::new(&options, &*protocol, desk, session)?;
    Ok(Arc::new(Adapter::new(protocol, brokered, options.retry)))
}

fn protocol(kind: &str, options: &Options) -> Result<Box<dyn Protocol>, Error> {
    match kind {
        "openai" => Ok(Box::new(OpenAi::new(options)?)),
        other => {
            let text = format!("unknown kind \"{other}\" (known: {})", KINDS.join(", "));
            Err(Error::new(&options.name, Cause::Config(text)))
        }
    }
}
