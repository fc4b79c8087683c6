//! The loop of the screen: something happens, the model takes it in, what follows is done, what changed is drawn.

use std::{future::poll_fn, io, path::PathBuf, task::Poll, time::Instant};

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyModifiers};
use futures_util::{StreamExt as _, stream::BoxStream};
use link::{AgentLink, BrokerState, LinkState};
use stdx::{clock::monotonic, task::Scope};
use tokio::sync::{mpsc, watch};

use crate::{
    Ending, Error, Question, Questions, TuiOptions, Why,
    effects::Effect,
    model::Model,
    msg::Msg,
    pace::Pace,
    panes::{
        composer::{History, burst},
        status,
    },
    runner::Runner,
    signals::{Signal, Signals},
    terminal::Terminal,
    update,
};

/// How many messages of tasks may wait. Who finds it full waits, and with it the agent's stream.
pub(crate) const WAITING: usize = 256;
/// How many terminal events are taken in before the screen is drawn again.
const TOGETHER: usize = 256;
/// How many lines of the transcript are left on the normal screen.
const TAIL: usize = 40;

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
    let signals = Signals::new().map_err(Error::Terminal)?;
    let terminal = Terminal::enter(options.mouse).map_err(Error::Terminal)?;
    let seat = Seat {
        display: terminal,
        signals: Some(signals),
        events: EventStream::new().boxed(),
        inbox: mpsc::channel(WAITING),
    };
    Ok(show(seat, link, questions, options, scope).await)
}

/// Where the person sits: what they see and press, and where results of tasks come in.
pub(crate) struct Seat<D> {
    pub(crate) display: D,
    /// `None` where the process's signals are not the screen's business.
    pub(crate) signals: Option<Signals>,
    pub(crate) events: Events,
    /// Bounded by [`WAITING`].
    pub(crate) inbox: (mpsc::Sender<Msg>, mpsc::Receiver<Msg>),
}

/// What the person does.
pub(crate) type Events = BoxStream<'static, io::Result<Event>>;

/// Where pictures go.
pub(crate) trait Display {
    /// Gives columns and rows.
    fn size(&self) -> (u16, u16);
    /// Says whether the last picture is still being written.
    fn is_writing(&self) -> bool;
    /// Waits until the last picture is written; for ever when none is on its way.
    async fn written(&mut self) -> io::Result<()>;
    /// Draws a picture and begins to write what changed.
    fn draw(&mut self, model: &Model) -> io::Result<()>;
    /// Forgets what was drawn, so that the next picture is drawn whole.
    fn redraw(&mut self) -> io::Result<()>;
    /// Captures the mouse or leaves it alone.
    fn set_mouse(&mut self, captured: bool);
    /// Puts a text into the person's clipboard.
    fn copy(&mut self, text: &str);
    /// Gives the terminal back, for as long as the process is stopped.
    fn suspend(&mut self) -> io::Result<()>;
    /// Takes the terminal again after the process was stopped.
    fn resume(&mut self) -> io::Result<()>;
    /// Puts everything back as it was, and says whether anybody reads what is written.
    async fn leave(self) -> bool;
}

/// Shows the screen on a display until the person leaves.
pub(crate) async fn show<D: Display>(
    seat: Seat<D>,
    link: AgentLink,
    questions: Questions,
    options: TuiOptions,
    scope: &Scope,
) -> Ending {
    let scope = scope.child("screen");
    let (sender, messages) = seat.inbox;
    let states = link.states();
    let state = states.borrow().clone();
    let mut broker = link.broker();
    // What it is at first is shown as well.
    broker.iter_mut().for_each(watch::Receiver::mark_changed);
    let host = link.host().map(str::to_owned);
    let history = load_history(options.history_file.clone()).await;
    let size = seat.display.size();
    let mut app = App {
        model: Model::new(&options, history, host, state, size, monotonic()),
        runner: Runner::new(link, options.history_file, sender, &scope),
        terminal: seat.display,
        pace: Pace::default(),
        why: None,
    };
    let mut sources = Sources {
        signals: seat.signals,
        events: seat.events,
        messages,
        states: Some(states),
        broker,
        questions: Some(questions),
    };
    app.begin();
    let why = app.go_on(&mut sources, &scope).await;
    drop(sources);
    app.end(why).await
}

/// Where messages come from.
struct Sources {
    signals: Option<Signals>,
    events: Events,
    messages: mpsc::Receiver<Msg>,
    /// `None` once the link is closed for good.
    states: Option<watch::Receiver<LinkState>>,
    /// `None` where the keys are not here.
    broker: Option<watch::Receiver<BrokerState>>,
    /// `None` once nobody can ask any more.
    questions: Option<Questions>,
}

/// Something that happened.
enum Happened {
    Cancelled,
    Signal(Signal),
    Terminal(Option<io::Result<Event>>),
    Written(io::Result<()>),
    Msg(Msg),
    /// Nothing; it is time to look again.
    Time,
}

struct App<D> {
    model: Model,
    runner: Runner,
    terminal: D,
    pace: Pace,
    /// What ends the screen.
    why: Option<Why>,
}

impl<D: Display> App<D> {
    fn begin(&mut self) {
        let effects = update::begin(&mut self.model);
        self.perform(effects);
        self.pace.now();
    }

    async fn go_on(&mut self, sources: &mut Sources, scope: &Scope) -> Why {
        loop {
            self.draw();
            if let Some(why) = self.why.take() {
                return why;
            }
            let happened = self.next(sources, scope).await;
            self.model.screen.now = monotonic();
            self.take(happened, sources).await;
        }
    }

    /// Waits for the next thing. Cancellation and signals come first, then the person, then everybody else.
    async fn next(&mut self, sources: &mut Sources, scope: &Scope) -> Happened {
        let wake = self.wake();
        let timer = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = scope.token().cancelled() => Happened::Cancelled,
            signal = signalled(&mut sources.signals) => Happened::Signal(signal),
            event = sources.events.next() => Happened::Terminal(event),
            written = self.terminal.written() => Happened::Written(written),
            state = changed(&mut sources.states) => match state {
                Some(state) => Happened::Msg(Msg::Link(state)),
                None => {
                    sources.states = None;
                    Happened::Time
                }
            },
            state = changed(&mut sources.broker) => match state {
                Some(state) => Happened::Msg(Msg::Broker(state)),
                None => {
                    sources.broker = None;
                    Happened::Time
                }
            },
            question = asked(&mut sources.questions) => match question {
                Some(question) => Happened::Msg(Msg::Question(question)),
                None => {
                    sources.questions = None;
                    Happened::Time
                }
            },
            Some(msg) = sources.messages.recv() => Happened::Msg(msg),
            () = timer => Happened::Time,
        }
    }

    /// Says when to look again although nothing happened: a picture is due, or something moves.
    fn wake(&self) -> Option<Instant> {
        let due = self.pace.due().filter(|_| !self.terminal.is_writing());
        let moves = status::moves_in(&self.model).map(|soon| self.model.screen.now + soon);
        due.into_iter().chain(moves).min()
    }

    async fn take(&mut self, happened: Happened, sources: &mut Sources) {
        match happened {
            Happened::Cancelled | Happened::Signal(Signal::Leave) => self.why = Some(Why::Signal),
            Happened::Signal(Signal::Interrupt) => {
                let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
                self.update(Msg::Key(key));
                self.pace.now();
            }
            Happened::Signal(Signal::Continued) => self.resume(),
            Happened::Terminal(event) => {
                let events = together(event, &mut sources.events).await;
                self.events(events);
            }
            // A terminal that cannot be written is gone.
            Happened::Written(Err(error)) => self.lost(&error),
            Happened::Written(Ok(())) => {}
            Happened::Msg(msg) => {
                self.update(msg);
                self.pace.soon();
            }
            Happened::Time => {
                self.update(Msg::Tick);
                if status::moves_in(&self.model).is_some() {
                    self.pace.soon();
                }
            }
        }
    }

    /// Takes in terminal events. Many keys at once with line ends between them are a paste without brackets.
    fn events(&mut self, events: Vec<Option<io::Result<Event>>>) {
        let keys: Option<Vec<KeyEvent>> = events
            .iter()
            .map(|event| match event {
                Some(Ok(Event::Key(key))) => Some(*key),
                _ => None,
            })
            .collect();
        if let Some(text) = keys.filter(|keys| keys.len() > 2).and_then(|keys| burst(&keys)) {
            return self.event(Some(Ok(Event::Paste(text))));
        }
        for event in events {
            self.event(event);
            if self.why.is_some() {
                return;
            }
        }
    }

    fn event(&mut self, event: Option<io::Result<Event>>) {
        let msg = match event {
            Some(Ok(event)) => match event {
                Event::Key(key) => Msg::Key(key),
                Event::Paste(text) => Msg::Paste(text),
                Event::Mouse(mouse) => Msg::Mouse(mouse),
                Event::Resize(width, height) => Msg::Resize(width, height),
                Event::FocusGained | Event::FocusLost => return,
            },
            Some(Err(error)) => return self.lost(&error),
            None => {
                self.why = Some(Why::Signal);
                return;
            }
        };
        self.update(msg);
        self.pace.now();
    }

    fn lost(&mut self, error: &io::Error) {
        tracing::info!(%error, "the terminal is gone");
        self.why = Some(Why::Signal);
    }

    fn update(&mut self, msg: Msg) {
        let effects = update::update(&mut self.model, msg);
        self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let done = match effect {
                Effect::Quit(why) => {
                    self.why = Some(why);
                    Ok(())
                }
                Effect::Redraw => self.terminal.redraw(),
                Effect::Suspend => self.suspend(),
                Effect::Mouse(captured) => {
                    self.terminal.set_mouse(captured);
                    Ok(())
                }
                Effect::Copy(text) => {
                    self.terminal.copy(&text);
                    Ok(())
                }
                effect => {
                    self.runner.run(effect);
                    Ok(())
                }
            };
            if let Err(error) = done {
                self.lost(&error);
            }
        }
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.terminal.suspend()?;
        self.pace.now();
        Ok(())
    }

    fn resume(&mut self) {
        if let Err(error) = self.terminal.resume() {
            self.lost(&error);
        }
        let (width, height) = self.terminal.size();
        self.update(Msg::Resize(width, height));
        self.pace.now();
    }

    fn draw(&mut self) {
        let now = monotonic();
        if self.terminal.is_writing() || !self.pace.is_due(now) {
            return;
        }
        self.model.screen.now = now;
        let drawn = self.terminal.draw(&self.model);
        self.pace.drawn(now);
        if let Err(error) = drawn {
            self.lost(&error);
        }
    }

    /// Puts the terminal back and says how it ended.
    async fn end(self, why: Why) -> Ending {
        let width = self.terminal.size().0;
        let reads = self.terminal.leave().await;
        self.runner.close().await;
        let session = &self.model.session;
        Ending {
            session: session.is_open().then(|| session.id()),
            is_working: session.snapshot.phase.turn().is_some(),
            undelivered: self.model.outbox.undelivered(),
            why,
            // Where nobody reads, writing it would keep the program from ending.
            tail: if reads {
                self.model.transcript.tail(width, TAIL)
            } else {
                Vec::new()
            },
        }
    }
}

/// Gives an event and those that wait behind it. It asks with the waker of this task, since the stream wakes whoever
/// asked first and found nothing.
async fn together(first: Option<io::Result<Event>>, events: &mut Events) -> Vec<Option<io::Result<Event>>> {
    let mut found = vec![first];
    poll_fn(|context| {
        while found.len() < TOGETHER && matches!(found.last(), Some(Some(Ok(_)))) {
            match events.poll_next_unpin(context) {
                Poll::Ready(event) => found.push(event),
                Poll::Pending => break,
            }
        }
        Poll::Ready(())
    })
    .await;
    found
}

/// Reads what was typed before. A file that cannot be read is no reason not to begin.
async fn load_history(file: Option<PathBuf>) -> History {
    let Some(file) = file else {
        return History::default();
    };
    match stdx::task::blocking(move || History::load(&file)).await {
        Ok(history) => history,
        Err(error) => {
            tracing::warn!(%error, "the prompts typed before could not be read");
            History::default()
        }
    }
}

/// Waits for a signal.
async fn signalled(signals: &mut Option<Signals>) -> Signal {
    match signals {
        Some(signals) => signals.next().await,
        None => std::future::pending().await,
    }
}

/// Waits for another state of the link; `None` when there will be none.
async fn changed<T: Clone>(states: &mut Option<watch::Receiver<T>>) -> Option<T> {
    match states {
        Some(states) => {
            states.changed().await.ok()?;
            Some(states.borrow_and_update().clone())
        }
        None => std::future::pending().await,
    }
}

/// Waits for a question; `None` when there will be none.
async fn asked(questions: &mut Option<Questions>) -> Option<Question> {
    match questions {
        Some(questions) => questions.next().await,
        None => std::future::pending().await,
    }
}
