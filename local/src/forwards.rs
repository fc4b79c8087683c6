//! Port forwards of a host: opened while a command is connected, kept over reconnects.
//!
//! A rule that is malformed ends the command before anything is dialled. One that cannot be carried out is named, with
//! its side, the cause and what to do next, and the others go on, as with OpenSSH's `ExitOnForwardFailure no`.

pub(crate) mod consent;

use std::{collections::HashMap, sync::Arc};

use forward::{Error, Kind, RuleId, RuleState, Spec, Via};
use link::{Link, Prompter};
use settings::schema::{ForwardKind, RemoteHost};

use crate::{
    args::ForwardArgs,
    control::{
        client,
        message::{Offer, Refused},
        place::Place,
    },
    exit::Exit,
    forwards::consent::Consents,
    invocation::Invocation,
    report::{self, Failure},
};

/// Rules that were asked for on the command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    specs: Vec<Spec>,
    /// Whether the person agreed, on the command line, to listeners that other machines can reach.
    agreed: bool,
}

impl Asked {
    /// Reads the rules of a command line. The first that is malformed is an error.
    pub(crate) fn read(args: &ForwardArgs) -> Result<Self, Failure> {
        let specs = args.rules().map(|rule| read(&rule, args.via.into()));
        let specs: Result<Vec<Spec>, Error> = specs.collect();
        Ok(Self {
            specs: specs.map_err(|error| malformed(&error))?,
            agreed: args.allow_public_bind,
        })
    }
}

/// Reads a rule; a way that stands in its text counts.
pub(crate) fn read(rule: &str, via: Via) -> Result<Spec, Error> {
    let mut spec = link::read_rule(rule)?;
    if spec.via == Via::Auto {
        spec.via = via;
    }
    Ok(spec)
}

/// A rule that is wrong.
pub(crate) fn malformed(error: &Error) -> Failure {
    Failure::new(Exit::Usage, report::chain(error)).maybe_hint(error.hint())
}

/// Opens forwards of one link.
#[derive(Clone)]
pub(crate) struct Opener {
    link: Link,
    prompter: Arc<dyn Prompter>,
    consents: Consents,
    place: Place,
}

/// A forward that is open.
pub(crate) struct Opened {
    /// Its number.
    pub(crate) id: RuleId,
    /// What a person should know about it.
    pub(crate) warning: Option<String>,
}

impl Opener {
    /// Makes an opener for a link; `prompter` is asked and told.
    pub(crate) fn new(invocation: &Invocation, link: &Link, prompter: &Arc<dyn Prompter>) -> Self {
        Self {
            link: link.clone(),
            prompter: Arc::clone(prompter),
            consents: Consents::of(invocation, link.host()),
            place: Place::of(invocation),
        }
    }

    /// Gives the link.
    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Opens what is configured and what was asked for. What fails is said, and the others go on.
    pub(crate) async fn open_all(&self, configured: Option<&RemoteHost>, asked: Asked) {
        for rule in configured
            .map(|host| host.forwards.as_slice())
            .unwrap_or_default()
        {
            match read(&spec_text(rule), rule.via.word().parse().unwrap_or_default()) {
                Ok(spec) => self.open_or_say(spec, false).await,
                Err(error) => self.say(&refused(&error, None)),
            }
        }
        for spec in asked.specs {
            self.open_or_say(spec, asked.agreed).await;
        }
    }

    /// Opens a rule; a person is asked where that can help.
    async fn open_or_say(&self, spec: Spec, agreed: bool) {
        let mut outcome = self.open(spec.clone(), agreed).await;
        if let Err(refused) = &outcome {
            if let Some(pid) = self.holder(&spec, refused).await {
                let text = format!("forward rule {spec}: process {pid} of yours has it open already");
                return self.prompter.notice(&text);
            }
            if let Some(offer) = refused.offer.clone() {
                outcome = match self.offer(&spec, refused, offer).await {
                    Some(outcome) => outcome,
                    None => outcome,
                };
            }
        }
        match outcome {
            Ok(Opened {
                warning: Some(warning),
                ..
            }) => self.prompter.notice(&warning),
            Ok(_) => {}
            Err(refused) => self.say(&refused),
        }
    }

    /// Finds another front end of this user that listens for the very rule.
    async fn holder(&self, spec: &Spec, refused: &Refused) -> Option<u32> {
        // A listener here has the port also while the host is away; of one there nothing is known then.
        let only_ready = match spec.kind {
            Kind::Remote => true,
            _ if matches!(refused.offer, Some(Offer::Instead(_))) => false,
            _ => return None,
        };
        client::holder(&self.place, self.link.host(), &spec.to_string(), only_ready).await
    }

    /// Asks a person; `None` when nobody agreed.
    async fn offer(&self, spec: &Spec, refused: &Refused, offer: Offer) -> Option<Result<Opened, Refused>> {
        let question = question(&refused.message, &offer);
        if !self.prompter.confirm(&question).await {
            return None;
        }
        Some(match offer {
            Offer::Public => self.open(spec.clone(), true).await,
            Offer::Instead(rule) => match read(&rule, Via::Auto) {
                Ok(instead) => self.open(instead, false).await,
                Err(error) => Err(self::refused(&error, None)),
            },
        })
    }

    /// Opens a rule. Nobody is asked: what could help is offered with the refusal.
    pub(crate) async fn open(&self, spec: Spec, agreed: bool) -> Result<Opened, Refused> {
        if let Some(id) = self.link.forwards().find(&spec) {
            let hint = format!("`reasonix remote forward rm {} '{id}'` ends it", self.link.host());
            return Err(
                Refused::new(format!("forward rule {spec}: it is open already, as {id}")).hint(Some(hint)),
            );
        }
        let warning = match spec.is_public() {
            true => Some(self.may_be_public(&spec, agreed).await?),
            false => None,
        };
        let added = self.link.forwards().add(spec.clone()).await;
        let id = added.map_err(|error| self::refused(&error, Some(&spec)))?;
        Ok(Opened { id, warning })
    }

    /// Checks that a person agreed to a listener that other machines can reach, and gives what is said at each use.
    async fn may_be_public(&self, spec: &Spec, agreed: bool) -> Result<String, Refused> {
        let side = match spec.kind {
            Kind::Remote => self.link.host().to_owned(),
            _ => "this one".to_owned(),
        };
        let rule = consent::text(spec);
        if agreed {
            if let Err(why) = self.consents.remember(&rule).await {
                let why = why.to_string();
                return Ok(public_warning(spec, &side, self.consents.file(), Some(&why)));
            }
        } else if !self.consents.has(&rule).await {
            let reach = format!("every machine that reaches {side} could use {}", spec.bind);
            let message = format!("forward rule {spec} is not opened: {reach}, not only programs of yours");
            let hint = "listen on 127.0.0.1, [::1] or a socket path, or agree once with --allow-public-bind";
            let mut refused = Refused::new(message).hint(Some(hint));
            refused.offer = Some(Offer::Public);
            return Err(refused);
        }
        Ok(public_warning(spec, &side, self.consents.file(), None))
    }

    /// Says what a person should know of a rule that is not open.
    fn say(&self, refused: &Refused) {
        self.prompter.notice(&refused.message);
        if let Some(hint) = &refused.hint {
            self.prompter.notice(&format!("hint: {hint}"));
        }
    }

    /// Says it when the host refuses a rule after it was opened, once for each reason, until the link is closed.
    pub(crate) async fn tell_refusals(self) {
        let mut changes = self.link.forwards().changes();
        let mut told: HashMap<RuleId, String> = HashMap::new();
        loop {
            // Marked as seen first: what changes while it is read is read again.
            changes.mark_unchanged();
            for rule in self.link.forwards().list() {
                let trouble = link::rule_trouble(&rule);
                match (rule.state, trouble) {
                    (RuleState::Refused { .. }, Some(why)) if told.get(&rule.id) != Some(&why) => {
                        self.prompter
                            .notice(&format!("forward rule {}: {why}", rule.spec));
                        told.insert(rule.id, why);
                    }
                    (RuleState::Ready { .. }, _) => drop(told.remove(&rule.id)),
                    (RuleState::Refused { .. } | RuleState::Offline, _) => {}
                }
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    }
}

/// Words it as a question to which a person says yes or no.
pub(crate) fn question(message: &str, offer: &Offer) -> String {
    match offer {
        Offer::Public => format!("{message}. Open it all the same?"),
        Offer::Instead(rule) => format!("{message}. Open {rule} instead?"),
    }
}

/// Says why a rule is not open, and what would help.
fn refused(error: &Error, spec: Option<&Spec>) -> Refused {
    let mut refused = Refused::new(report::chain(error)).hint(error.hint());
    refused.offer = spec
        .and_then(|spec| link::rule_instead(spec, error))
        .map(Offer::Instead);
    refused
}

/// Writes a configured rule as the forward crate reads it, without its way.
pub(crate) fn spec_text(rule: &settings::schema::Forward) -> String {
    let kind = match rule.r#type {
        ForwardKind::Local => "L",
        ForwardKind::Remote => "R",
        ForwardKind::Dynamic => "D",
    };
    match &rule.target {
        // A port alone is one of the machine itself at which the forward ends.
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{kind}:{}:127.0.0.1:{port}", rule.bind)
        }
        Some(target) => format!("{kind}:{}:{target}", rule.bind),
        None => format!("{kind}:{}", rule.bind),
    }
}

/// Says at each use that other machines reach a listener, and where that was agreed to, or why that is not written down.
fn public_warning(spec: &Spec, side: &str, file: &std::path::Path, not_kept: Option<&str>) -> String {
    let file = file.display();
    let kept = match not_kept {
        None => format!("you agreed to that, and {file} remembers it"),
        Some(why) => format!("you agreed to that for now: it could not be written down in {file}: {why}"),
    };
    format!("warning: forward rule {spec}: every machine that reaches {side} can use it; {kept}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consent_that_could_not_be_written_down_is_not_said_to_be_remembered() {
        let spec: Spec = "L:*:8080:db:5432".parse().unwrap();
        let file = std::path::Path::new("/home/me/.reasonix/public-forwards.json");
        let kept = public_warning(&spec, "this one", file, None);
        assert!(kept.contains("public-forwards.json remembers it"), "{kept}");
        let lost = public_warning(&spec, "this one", file, Some("disk full"));
        assert!(!lost.contains("remembers"), "{lost}");
        assert!(lost.ends_with("public-forwards.json: disk full"), "{lost}");
    }
}
