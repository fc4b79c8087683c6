//! The way to the host: follows the link's states until it is live, and times them.

use std::time::{Duration, Instant};

use link::{Link, LinkState, Stage as LinkStage};

use crate::{error::DemoError, line::Topic, narrator::Narrator, summary::Stage};

/// The parts of the way, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Connect,
    Upload,
    Launch,
    There,
}

impl Part {
    fn of(stage: LinkStage) -> Self {
        match stage {
            LinkStage::Resolving | LinkStage::Dialing | LinkStage::Authenticating | LinkStage::Probing => {
                Self::Connect
            }
            LinkStage::Installing { .. } => Self::Upload,
            LinkStage::Launching | LinkStage::Attaching => Self::Launch,
            LinkStage::Live => Self::There,
        }
    }
}

/// Waits until the link is live and gives the parts of the way. `megabytes` is the size of the program.
pub(crate) async fn follow(
    link: &Link,
    megabytes: f64,
    narrator: &mut Narrator<'_>,
) -> Result<Vec<Stage>, DemoError> {
    let mut states = link.states();
    let mut way = Way {
        now: Part::Connect,
        since: stdx::clock::monotonic(),
        stages: Vec::new(),
        megabytes,
    };
    loop {
        let state = states.borrow_and_update().clone();
        match state {
            LinkState::Connecting(stage) => way.enter(Part::of(stage), narrator),
            LinkState::Live { .. } => way.enter(Part::There, narrator),
            LinkState::Failed(error) => return Err(DemoError::Link(error)),
            LinkState::Waiting { cause, .. } => {
                narrator.say(Topic::Connect, &format!("not yet, it is tried again: {cause}"));
            }
            LinkState::Prompting | LinkState::Offline => {}
        }
        if way.now == Part::There
            && let Some(ready) = link.ready()
        {
            let pid = ready.hello.identity.pid;
            narrator.say(
                Topic::Launch,
                &format!("the agent runs there on its own: process {pid}"),
            );
            return Ok(way.stages);
        }
        if states.changed().await.is_err() {
            // Closed by whoever cancels the run, which ends this future too.
            std::future::pending::<()>().await;
        }
    }
}

struct Way {
    now: Part,
    since: Instant,
    stages: Vec<Stage>,
    megabytes: f64,
}

impl Way {
    /// Goes on to a part. Parts that went by unseen count as taking no time; a second try starts no part again.
    fn enter(&mut self, part: Part, narrator: &mut Narrator<'_>) {
        while self.now < part {
            let took = self.since.elapsed();
            self.since = stdx::clock::monotonic();
            self.finish(took, narrator);
        }
    }

    fn finish(&mut self, took: Duration, narrator: &mut Narrator<'_>) {
        let size = self.megabytes;
        let (name, what) = match self.now {
            Part::Connect => {
                narrator.say(
                    Topic::Connect,
                    "over SSH: host key checked, logged in with a throwaway key",
                );
                narrator.say(
                    Topic::Upload,
                    &format!("this program, {size:.1} MB, goes to ~/.reasonix/bin"),
                );
                self.now = Part::Upload;
                ("connect", "SSH, host key, login, a look around".to_owned())
            }
            Part::Upload => {
                narrator.say(Topic::Upload, "there, its SHA-256 checked on the host, and tried");
                self.now = Part::Launch;
                ("upload", format!("{size:.1} MB, checked on the host"))
            }
            Part::Launch | Part::There => {
                self.now = Part::There;
                (
                    "launch",
                    "`reasonix serve --detach` on the host, and its hello".to_owned(),
                )
            }
        };
        self.stages.push(Stage::new(name, took, what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_went_by_unseen_are_there_and_none_twice() {
        let mut lines = Vec::new();
        let mut show = |line| lines.push(line);
        let mut narrator = Narrator::new(&mut show);
        let mut way = Way {
            now: Part::Connect,
            since: stdx::clock::monotonic(),
            stages: Vec::new(),
            megabytes: 1.0,
        };
        way.enter(Part::of(LinkStage::Dialing), &mut narrator);
        assert!(way.stages.is_empty());
        way.enter(Part::of(LinkStage::Launching), &mut narrator);
        way.enter(Part::of(LinkStage::Dialing), &mut narrator);
        way.enter(Part::There, &mut narrator);
        let names: Vec<_> = way.stages.iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["connect", "upload", "launch"]);
    }
}
