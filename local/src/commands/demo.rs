//! `reasonix demo`: the whole way on a throwaway host.

use crate::{args::DemoArgs, exit::Exit, report::Failure};

/// Runs the demo.
pub(crate) async fn run(_args: DemoArgs) -> Result<Exit, Failure> {
    Err(Failure::new(Exit::Failed, "the demo is being written"))
}
