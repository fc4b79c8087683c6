//! The loop of the screen.

use link::AgentLink;
use stdx::task::Scope;

use crate::{Ending, Error, Questions, TuiOptions};

/// Shows the screen until the person leaves, and restores the terminal on every way out.
///
/// It may be called before the link is live: the screen shows how far it is and asks what the link asks.
///
/// # Errors
/// [`Error::Terminal`].
pub async fn run(
    link: AgentLink,
    questions: Questions,
    options: TuiOptions,
    scope: &Scope,
) -> Result<Ending, Error> {
    let _unread = (link, questions, options, scope);
    Err(Error::Terminal(std::io::Error::other("not drawn yet")))
}
