//! Runs the calls of one answer: readers that need no question overlap, everything else runs one after another in
//! order, and results are reported in the order of the calls whatever finished first.

use conversation::{Effect, ToolCall, ToolMessage};
use futures_util::future::join_all;
use stdx::task::Scope;

use crate::{SessionGone, SessionPort, TurnEvent, TurnOptions, gate, run_tool::Prepared};

/// Runs calls for a turn.
pub(crate) struct Dispatcher<'a> {
    pub(crate) options: &'a TurnOptions,
    pub(crate) port: &'a dyn SessionPort,
    pub(crate) scope: &'a Scope,
}

impl Dispatcher<'_> {
    /// Runs every call and gives their results in order. Each has been reported.
    pub(crate) async fn run(&self, calls: Vec<ToolCall>) -> Result<Vec<ToolMessage>, SessionGone> {
        let mut results = Vec::with_capacity(calls.len());
        let mut rest = calls.as_slice();
        while !rest.is_empty() {
            // The policy may have changed with the last call, so the group is found anew.
            let readers = rest.iter().take_while(|call| self.overlaps(call)).count();
            let (group, later) = rest.split_at(readers.max(1));
            for result in self.run_group(group).await? {
                self.port.report(TurnEvent::CallFinished(result.clone())).await?;
                results.push(result);
            }
            rest = later;
        }
        Ok(results)
    }

    async fn run_group(&self, group: &[ToolCall]) -> Result<Vec<ToolMessage>, SessionGone> {
        let runs = group.iter().map(|call| self.run_one(call));
        join_all(runs).await.into_iter().collect()
    }

    async fn run_one(&self, call: &ToolCall) -> Result<ToolMessage, SessionGone> {
        let result = match Prepared::new(call, self.options) {
            Ok(prepared) => prepared.run(self.port, self.scope).await?,
            Err(result) => result,
        };
        Ok(result)
    }

    /// Says whether a call may run beside others: it only reads, and nobody needs to be asked.
    fn overlaps(&self, call: &ToolCall) -> bool {
        let Ok(prepared) = Prepared::new(call, self.options) else {
            return false;
        };
        prepared.effect() == Effect::Read
            && !prepared.asks_a_person()
            && gate::runs_freely(&self.port.policy(), &prepared.asking())
    }
}
