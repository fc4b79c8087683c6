//! `reasonix setup`: from nothing to a model that answers.

use crate::{exit::Exit, invocation::Invocation, report::Failure, setup, terminal};

/// Leads a person through the setup.
pub(crate) async fn run(invocation: &Invocation) -> Result<Exit, Failure> {
    if !terminal::can_ask() {
        return Err(setup::unattended());
    }
    Ok(match setup::run(invocation).await? {
        setup::Done::Answered => Exit::Success,
        setup::Done::Kept => Exit::ModelAccess,
    })
}
