//! The kinds of providers.

use std::sync::Arc;

use crate::{
    Cause, Error, Options, Provider, http::Http, openai::OpenAi, protocol::Protocol, stream::Adapter,
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
    let protocol: Box<dyn Protocol> = match kind {
        "openai" => Box::new(OpenAi::new(&options)?),
        other => {
            let text = format!("unknown kind \"{other}\" (known: {})", KINDS.join(", "));
            return Err(Error::new(&options.name, Cause::Config(text)));
        }
    };
    let retry = options.retry;
    let http = Http::new(options, &*protocol)?;
    Ok(Arc::new(Adapter::new(protocol, http, retry)))
}
