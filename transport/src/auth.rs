//! Logging in: which methods, in which order, until the host is satisfied.
//!
//! Order as OpenSSH: public keys, keyboard-interactive, password, or what `PreferredAuthentications` says; a partial
//! success is followed ("publickey, then password"). What the host says it would take next decides; a method that it
//! does not list, or that the configuration forbids, is never tried.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | know in which order keys and certificates are offered | `offers` |
//! | know which key files are used, and how they are opened | `key_file` |
//! | change what is said about a certificate | `certificate` |
//! | change how the agent is asked, security keys included | `agent` |

mod agent;
mod ask;
mod certificate;
mod key_file;
mod keyboard_interactive;
mod offers;
mod password;
mod public_key;

use std::{path::PathBuf, sync::Arc};

use russh::{MethodKind, MethodSet, client::AuthResult};

use crate::{
    ConnectOptions, Error, ErrorKind, Prompter, Resolved, SecretMemory, Stage,
    auth::{ask::Asker, public_key::Offers},
    connection::Handle,
    handler::Reports,
};

/// How a login went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Login {
    /// The methods that succeeded, in order, such as `publickey` or `password`.
    pub methods: Vec<String>,
    /// Whether the host asked something that may be a one-time factor, or a security key was touched: nothing may log in
    /// again on its own then.
    pub one_time_factor: bool,
    /// The public key as in `authorized_keys`, if that alone was enough.
    pub key: Option<String>,
}

/// What one try of a method led to.
pub(crate) enum Tried {
    /// Logged in.
    Success,
    /// Accepted, but the host wants more.
    Partial(MethodSet),
    /// Not accepted.
    Failure(MethodSet),
    /// One offer was dropped on our side; the host did not see it.
    Skipped,
    /// This method has nothing (more) to offer.
    Exhausted,
    /// Somebody would have to answer; the text names what was asked. Other methods may still do.
    NeedsPerson(String),
    /// The same, in the middle of an exchange that nothing else can follow.
    Unanswered(String),
}

impl From<AuthResult> for Tried {
    fn from(result: AuthResult) -> Self {
        match result {
            AuthResult::Success => Self::Success,
            AuthResult::Failure {
                remaining_methods,
                partial_success: true,
            } => Self::Partial(remaining_methods),
            AuthResult::Failure {
                remaining_methods,
                partial_success: false,
            } => Self::Failure(remaining_methods),
        }
    }
}

/// What the methods share.
pub(crate) struct Context<'a> {
    handle: &'a mut Handle,
    reports: &'a Reports,
    resolved: &'a Resolved,
    secrets: &'a SecretMemory,
    asker: Asker,
    /// What the host was offered, in words.
    offered: Vec<String>,
    /// What was not offered and why, in words.
    unused: Vec<String>,
    /// What may be wrong with what was offered, each with what to do.
    doubts: Vec<String>,
    /// The first thing that nobody was there to give.
    unanswered: Option<String>,
    agent_keys_offered: usize,
}

impl Context<'_> {
    fn user(&self) -> &str {
        &self.resolved.endpoint.user
    }

    fn error(&self, kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, Stage::Login, &self.resolved.alias, message)
    }

    /// The host took longer than a step of the login may take.
    fn silent(&self) -> Error {
        let seconds = self.asker.step().as_secs_f32();
        self.error(
            ErrorKind::Unreachable,
            format!("the host did not answer within {seconds} s; {}", self.tried()),
        )
    }

    /// Turns a failed request into an error: the session is gone, or the host does not answer.
    async fn lost(&self) -> Error {
        let mut closed = self.reports.closed();
        let cause = tokio::time::timeout(
            std::time::Duration::from_secs(2),
            closed.wait_for(Option::is_some),
        )
        .await;
        let cause = cause.ok().and_then(Result::ok).and_then(|cause| cause.clone());
        let words = cause.as_ref().map_or("the host does not answer", Error::message);
        let too_many = words.to_ascii_lowercase().contains("too many");
        let kind = if too_many {
            ErrorKind::AuthRefused
        } else {
            ErrorKind::Closed
        };
        let error = self.error(kind, format!("{words}; {}", self.tried()));
        if too_many && self.agent_keys_offered > 0 {
            return error.with_hint(identities_hint(self.agent_keys_offered));
        }
        if too_many && self.offered.len() > 1 {
            return error.with_hint("name only the right key for this host (IdentityFile)");
        }
        error
    }

    fn tried(&self) -> String {
        let unused = self.unused.join(", ");
        match (self.offered.is_empty(), self.unused.is_empty()) {
            (false, true) => format!("offered: {}", self.offered.join(", ")),
            (false, false) => format!("offered: {}; not used: {unused}", self.offered.join(", ")),
            (true, false) => format!("nothing was offered; not used: {unused}"),
            (true, true) => self.nothing(),
        }
    }

    /// Says why there was nothing to offer.
    fn nothing(&self) -> String {
        let identity = &self.resolved.identity;
        let (there, missing): (Vec<_>, Vec<_>) = identity.files.iter().partition(|file| file.exists());
        let agent = if identity.agent.is_some() {
            "the agent has no key"
        } else {
            "there is no key agent"
        };
        let usual = |file: &&PathBuf| crate::resolve::is_usual_key(file);
        let files = match (there.as_slice(), missing.as_slice()) {
            ([], []) => return format!("nothing was offered ({agent})"),
            ([], missing) if missing.iter().all(usual) => "no key file of the usual names exists".to_owned(),
            ([], missing) => format!("there is no key file {}", listed(missing)),
            (there, _) => format!("no private key was found in {}", listed(there)),
        };
        format!("nothing was offered ({agent}, and {files})")
    }
}

fn listed(files: &[&PathBuf]) -> String {
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    files.join(", ")
}

fn identities_hint(count: usize) -> String {
    format!(
        "{count} keys of the agent were offered; IdentityFile with 'IdentitiesOnly yes' offers only the right one"
    )
}

/// Logs in.
pub(crate) async fn login(
    handle: &mut Handle,
    reports: &Reports,
    resolved: &Resolved,
    options: &ConnectOptions,
    prompter: &Arc<dyn Prompter>,
) -> Result<Login, Error> {
    let mut cx = Context {
        handle,
        reports,
        resolved,
        secrets: &options.secrets,
        asker: Asker::new(Arc::clone(prompter), options.deadlines),
        offered: Vec::new(),
        unused: Vec::new(),
        doubts: Vec::new(),
        unanswered: None,
        agent_keys_offered: 0,
    };
    let mut methods = Methods {
        keys: Offers::collect(&mut cx).await,
        rounds: Rounds::default(),
    };
    let first = first_step(&mut cx, &mut methods.keys, options.first_key.as_deref()).await?;
    let (mut remaining, mut login) = match first {
        First::LoggedIn(login) => return Ok(login),
        First::Wanted(remaining, login) => (remaining, login),
    };
    loop {
        let Some(method) = methods.next(&remaining, &cx) else {
            return Err(refusal(&cx, &remaining));
        };
        match methods.try_once(method, &mut cx, &mut login).await? {
            Tried::Success => {
                methods.passed(method, &mut login);
                login.key = methods.keys.last_if_alone(&login);
                return Ok(login);
            }
            Tried::Partial(next) => {
                methods.passed(method, &mut login);
                remaining = next;
            }
            Tried::Failure(next) => {
                if cx.handle.is_closed() {
                    return Err(cx.lost().await);
                }
                methods.rounds.count(method);
                remaining = next;
            }
            Tried::Skipped => {}
            Tried::Exhausted => methods.rounds.give_up(method),
            Tried::NeedsPerson(what) => {
                cx.unanswered.get_or_insert(what);
                methods.rounds.give_up(method);
            }
            Tried::Unanswered(what) => {
                cx.unanswered.get_or_insert(what);
                return Err(refusal(&cx, &remaining));
            }
        }
    }
}

/// How far the first step led.
enum First {
    LoggedIn(Login),
    /// What the host takes next, and what is done.
    Wanted(MethodSet, Login),
}

/// Offers the key that was enough the last time, or asks what the host takes.
async fn first_step(cx: &mut Context<'_>, keys: &mut Offers, key: Option<&str>) -> Result<First, Error> {
    let mut login = Login::default();
    if key.is_some_and(|key| keys.put_first(key)) {
        let tried = keys.try_next(cx).await?;
        if cx.handle.is_closed() {
            return Err(cx.lost().await);
        }
        match tried {
            Tried::Success => {
                keys.passed(&mut login);
                login.key = keys.last_if_alone(&login);
                return Ok(First::LoggedIn(login));
            }
            Tried::Partial(next) => {
                keys.passed(&mut login);
                return Ok(First::Wanted(next, login));
            }
            Tried::Failure(next) => return Ok(First::Wanted(next, login)),
            // Nothing was offered, so what the host takes is still unknown.
            Tried::Skipped | Tried::Exhausted | Tried::NeedsPerson(_) | Tried::Unanswered(_) => {}
        }
    }
    // The answer to "none" lists what the host takes; it does not count as an attempt.
    let user = cx.user().to_owned();
    let first = cx.asker.clone().answered(cx.handle.authenticate_none(user)).await;
    match first.map(|result| result.map(Tried::from)) {
        Ok(Ok(Tried::Success)) => {
            login.methods.push("none".into());
            Ok(First::LoggedIn(login))
        }
        Ok(Ok(Tried::Partial(methods) | Tried::Failure(methods))) if !methods.is_empty() => {
            Ok(First::Wanted(methods, login))
        }
        _ => Err(cx.lost().await),
    }
}

/// Which methods may still be tried.
struct Methods {
    keys: Offers,
    rounds: Rounds,
}

/// How often each method was tried since the last partial success; `NumberOfPasswordPrompts` says how often is enough.
#[derive(Default)]
struct Rounds {
    keys_done: bool,
    interactive: u32,
    password: u32,
}

impl Rounds {
    fn count(&mut self, method: MethodKind) {
        match method {
            MethodKind::KeyboardInteractive => self.interactive += 1,
            MethodKind::Password => self.password += 1,
            _ => {}
        }
    }

    fn give_up(&mut self, method: MethodKind) {
        match method {
            MethodKind::PublicKey => self.keys_done = true,
            MethodKind::KeyboardInteractive => self.interactive = u32::MAX,
            _ => self.password = u32::MAX,
        }
    }

    /// Says whether a method may be tried (again).
    fn is_free(&self, method: MethodKind, prompts: u32) -> bool {
        match method {
            MethodKind::PublicKey => !self.keys_done,
            MethodKind::KeyboardInteractive => self.interactive < prompts,
            MethodKind::Password => self.password < prompts,
            _ => false,
        }
    }
}

impl Methods {
    /// Chooses the first allowed method that the host takes and that is not used up.
    fn next(&self, remaining: &MethodSet, cx: &Context<'_>) -> Option<MethodKind> {
        let allowed = &cx.resolved.methods;
        let kinds = allowed
            .order
            .iter()
            .filter_map(|name| name.parse::<MethodKind>().ok());
        let free: Vec<_> = kinds
            .filter(|kind| remaining.contains(kind) && self.rounds.is_free(*kind, allowed.password_prompts))
            .collect();
        match free.first() {
            // A password we already have goes where passwords belong, not into the first question that comes.
            Some(MethodKind::KeyboardInteractive)
                if free.contains(&MethodKind::Password) && password::is_known(cx) =>
            {
                Some(MethodKind::Password)
            }
            first => first.copied(),
        }
    }

    async fn try_once(
        &mut self,
        method: MethodKind,
        cx: &mut Context<'_>,
        login: &mut Login,
    ) -> Result<Tried, Error> {
        match method {
            MethodKind::PublicKey => self.keys.try_next(cx).await,
            MethodKind::KeyboardInteractive => {
                keyboard_interactive::try_once(cx, self.rounds.interactive, login).await
            }
            _ => password::try_once(cx, self.rounds.password).await,
        }
    }

    /// Notes a success, which may be one of several.
    fn passed(&mut self, method: MethodKind, login: &mut Login) {
        if method == MethodKind::PublicKey {
            self.keys.passed(login);
        } else {
            login.methods.push(name(method));
        }
        self.rounds = Rounds::default();
    }
}

fn name(method: MethodKind) -> String {
    <&str>::from(&method).to_owned()
}

/// Says what was offered and what is still wanted.
fn refusal(cx: &Context<'_>, remaining: &MethodSet) -> Error {
    let wanted: Vec<_> = remaining.iter().map(<&str>::from).collect();
    let allowed = &cx.resolved.methods.order;
    let forbidden: Vec<_> = wanted
        .iter()
        .filter(|name| USED.contains(name) && !allowed.iter().any(|allowed| allowed == *name))
        .copied()
        .collect();
    let mut words = wanted.join(" or ");
    if !forbidden.is_empty() {
        words.push_str(&format!(
            ", but the SSH configuration does not allow {}",
            forbidden.join(" or ")
        ));
    }
    let user = cx.user();
    if let Some(what) = &cx.unanswered {
        return cx
            .error(
                ErrorKind::NeedsPerson,
                format!(
                    "{user} needs {words}, but nobody is there to give {what}; {}",
                    cx.tried()
                ),
            )
            .with_hint("connect where somebody can answer, or set up a key for this host");
    }
    let error = cx.error(
        ErrorKind::AuthRefused,
        format!(
            "the host does not let {user} in; {}; it takes {words}",
            cx.tried()
        ),
    );
    if !cx.doubts.is_empty() {
        return error.with_hint(cx.doubts.join("; "));
    }
    if cx.agent_keys_offered > 2 {
        return error.with_hint(identities_hint(cx.agent_keys_offered));
    }
    // The file is named by what was not used.
    if let Some(command) = cx.unused.iter().find_map(|why| key_file::chmod(why)) {
        return error.with_hint(format!("`{command}` lets the key be used"));
    }
    if forbidden.is_empty() && cx.offered.is_empty() && wanted.contains(&"publickey") {
        return error.with_hint(
            "name a key with `--identity-file` of `reasonix remote add` (IdentityFile), make one with `ssh-keygen -t \
             ed25519` and give the host its public half with ssh-copy-id, or load one with `ssh-add`",
        );
    }
    if !forbidden.is_empty() {
        return error
            .with_hint("look at PreferredAuthentications and the ...Authentication lines for this host");
    }
    error.with_hint("check the user name, and that the public key is in ~/.ssh/authorized_keys on the host")
}

/// The methods that this crate has.
const USED: [&str; 3] = ["publickey", "keyboard-interactive", "password"];
