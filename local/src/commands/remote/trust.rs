//! `reasonix remote trust HOST`: looks at the keys of a host and of those before it, and accepts new ones that a person
//! compared. Nobody logs in to the host itself.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::UNIX_EPOCH};

use link::Prompter;
use serde_json::{Value, json};
use stdx::task::Scope;
use transport::{
    Accepted, ConnectOptions, HostKey, KnownKey, Proxy, Resolved, Survey, host_key::Verdict as Says,
};

use super::machine;
use crate::{
    args::RemoteTrustArgs,
    ask::{self, visible},
    dial,
    exit::Exit,
    host::{HostPlan, HostRef, own_known_hosts, ssh_options},
    invocation::Invocation,
    report::{Failure, SCHEMA},
    terminal,
};

/// How long hanging up may take.
const GRACE: std::time::Duration = std::time::Duration::from_secs(3);

/// Looks, shows and asks.
pub(crate) async fn run(invocation: &Invocation, args: RemoteTrustArgs) -> Result<Exit, Failure> {
    for given in &args.fingerprints {
        if !given.starts_with("SHA256:") {
            let message = format!("{given} is no fingerprint");
            return Err(
                Failure::new(Exit::Usage, message).hint("write it as ssh-keygen -l prints it: SHA256:…")
            );
        }
    }
    let loaded = invocation.settings(None, &[])?;
    let plan = HostPlan::new(&HostRef::parse(&args.host)?, &loaded)?;
    let resolved = dial::resolve(invocation, &plan).await?;
    if args.machine {
        return machine::forget(invocation, &plan.name, resolved.endpoint, args.json).await;
    }
    let way = way(&resolved, args.hop.as_deref())?;
    let look = Look {
        options: ssh_options(invocation, &loaded),
        own: own_known_hosts(invocation, &loaded).display().to_string(),
        // Of a program that reads the answer nobody is at the terminal.
        prompter: if args.json {
            Arc::new(link::DenyAll)
        } else {
            ask::prompter()
        },
        args,
    };
    let outcomes = ask::with_person(look.all(&way)).await?;
    let trusted = outcomes.len() == way.len() && outcomes.iter().all(|outcome| outcome.trusted);
    if look.args.json {
        let hosts: Vec<Value> = outcomes.iter().map(Outcome::json).collect();
        let said = json!({"host": plan.name, "trusted": trusted, "hosts": hosts, "schema": SCHEMA});
        terminal::line(&said.to_string());
    }
    Ok(if trusted {
        Exit::Success
    } else {
        Exit::Authentication
    })
}

/// Lists the hosts on the way, the nearest first and the destination last.
fn way<'a>(destination: &'a Resolved, hop: Option<&str>) -> Result<Vec<&'a Resolved>, Failure> {
    let mut way = vec![destination];
    let mut last = destination;
    while let Some(Proxy::Jump(before)) = &last.proxy {
        way.insert(0, before);
        last = before;
    }
    let Some(hop) = hop else { return Ok(way) };
    let names: Vec<_> = way.iter().map(|host| host.alias.clone()).collect();
    way.retain(|host| host.alias == hop || host.endpoint.host_name == hop);
    if way.is_empty() {
        let message = format!("{hop} is not on the way to {}", destination.alias);
        return Err(Failure::new(Exit::Usage, message).hint(format!("the way is {}", names.join(", "))));
    }
    Ok(way)
}

/// What is needed to look at a host.
struct Look {
    args: RemoteTrustArgs,
    options: ConnectOptions,
    /// Our own file, for messages.
    own: String,
    prompter: Arc<dyn Prompter>,
}

/// What was found at one host, and what became of it.
struct Outcome {
    survey: Survey,
    trusted: bool,
    accepted: Option<Accepted>,
}

impl Look {
    async fn all(&self, way: &[&Resolved]) -> Result<Vec<Outcome>, Failure> {
        let mut outcomes = Vec::new();
        for (index, host) in way.iter().enumerate() {
            let scope = Scope::root("look at a host key");
            let survey = Survey::make(host, &self.options, &self.prompter, &scope).await;
            scope.close(GRACE).await;
            let outcome = self.one(host, survey?, index + 1 == way.len()).await?;
            let goes_on = outcome.trusted;
            outcomes.push(outcome);
            // Nothing behind a host is reached before it is trusted.
            if !goes_on {
                break;
            }
        }
        Ok(outcomes)
    }

    async fn one(&self, host: &Resolved, survey: Survey, is_last: bool) -> Result<Outcome, Failure> {
        if !self.args.json {
            show(&survey);
        }
        let Some(usual) = survey.presented.first() else {
            return Err(Failure::new(
                Exit::Unreachable,
                format!("{} presents no key", survey.host),
            ));
        };
        let is_trusted = |key: &HostKey| matches!(key.judged.verdict, Says::Known | Says::Certified(_));
        let given = |key: &&HostKey| self.args.fingerprints.contains(&key.fingerprint());
        let key = match survey.presented.iter().find(given) {
            Some(key) => key,
            None if is_trusted(usual) && (self.args.fingerprints.is_empty() || !is_last) => usual,
            None if !self.args.fingerprints.is_empty() => return Err(mismatch(&survey)),
            None => {
                self.refused_anyway(host, &survey, usual).await?;
                if !self.asked(&survey, usual).await? {
                    self.say("it is not trusted; nothing was written");
                    return Ok(Outcome {
                        survey,
                        trusted: false,
                        accepted: None,
                    });
                }
                usual
            }
        };
        if is_trusted(key) {
            self.say("nothing is to be accepted");
            let accepted = None;
            return Ok(Outcome {
                survey,
                trusted: true,
                accepted,
            });
        }
        let accepted = survey.accept(host, &self.options, key).await?;
        self.say(&format!(
            "trusted: {} lists {} {} for {}",
            self.own,
            key.algorithm(),
            key.fingerprint(),
            survey.listed_as
        ));
        if accepted.removed > 0 {
            self.say(&format!("lines removed from it: {}", accepted.removed));
        }
        for command in clean_ups(&survey, &accepted) {
            self.say(&format!(
                "another file still lists an old key; to remove it: {command}"
            ));
        }
        Ok(Outcome {
            survey,
            trusted: true,
            accepted: Some(accepted),
        })
    }

    /// Ends with an error where no answer could make the key acceptable.
    async fn refused_anyway(&self, host: &Resolved, survey: &Survey, key: &HostKey) -> Result<(), Failure> {
        match key.judged.verdict {
            Says::Revoked(_) => Err(survey.refusal(host, &self.options, key).await?.into()),
            _ => Ok(()),
        }
    }

    async fn asked(&self, survey: &Survey, key: &HostKey) -> Result<bool, Failure> {
        if self.args.json {
            return Ok(false);
        }
        if !terminal::can_ask() {
            let message = format!(
                "the key of {} is not accepted: nobody can be asked here",
                survey.host
            );
            return Err(Failure::new(Exit::Authentication, message)
                .hint("ask the host's administrator for the fingerprint and give it with --fingerprint")
                .on(&survey.host));
        }
        let question = format!(
            "Did you compare {} with what the administrator of {} says, and is it the same? Trust it",
            key.fingerprint(),
            survey.host
        );
        Ok(self.prompter.confirm(&question).await)
    }

    fn say(&self, text: &str) {
        if !self.args.json {
            terminal::line(text);
        }
    }
}

fn mismatch(survey: &Survey) -> Failure {
    let presented: Vec<_> = survey.presented.iter().map(HostKey::fingerprint).collect();
    let message = format!(
        "{} presents {}, which is not the given fingerprint",
        survey.host,
        presented.join(" and ")
    );
    Failure::new(Exit::Authentication, message)
        .hint("nothing was written; do not log in to this host before the administrator explains it")
        .on(&survey.host)
}

fn show(survey: &Survey) {
    let mut text = match survey.host == survey.listed_as {
        true => format!("host {}\n", visible(&survey.host)),
        false => format!("host {} ({})\n", visible(&survey.host), survey.listed_as),
    };
    for (index, key) in survey.presented.iter().enumerate() {
        let says = word(&key.judged.verdict).replace('_', " ");
        let line = format!("{} {}", key.algorithm(), key.fingerprint());
        text.push_str(&match index {
            0 => format!("presents {line}: {says}\n{}\n", key.picture()),
            _ => format!("also has {line}: {says}\n"),
        });
        if let Some(why) = &key.judged.certificate {
            text.push_str(&format!("  {}\n", visible(why)));
        }
        if let Says::Certified(line) = &key.judged.verdict {
            text.push_str(&format!("  by the authority of {}\n", place(line)));
        }
    }
    for line in &survey.known {
        text.push_str(&format!(
            "listed: {} {} in {}{}\n",
            line.algorithm,
            line.fingerprint,
            place(line),
            changed_at(&line.file).map_or_else(String::new, |at| format!(", a file last changed {at}"))
        ));
    }
    for line in &survey.authorities {
        text.push_str(&format!(
            "authority: {} {} in {}\n",
            line.algorithm,
            line.fingerprint,
            place(line)
        ));
    }
    if survey.broken_lines > 0 {
        text.push_str(&format!(
            "lines of known-hosts files that are not understood: {}\n",
            survey.broken_lines
        ));
    }
    terminal::text(&text);
}

fn place(line: &KnownKey) -> String {
    format!("{} line {}", line.file.display(), line.line)
}

fn changed_at(file: &Path) -> Option<String> {
    let changed = std::fs::metadata(file).ok()?.modified().ok()?;
    let millis = changed.duration_since(UNIX_EPOCH).ok()?.as_millis();
    Some(stdx::clock::rfc3339(u64::try_from(millis).ok()?))
}

fn word(verdict: &Says) -> &'static str {
    match verdict {
        Says::Known => "known",
        Says::Certified(_) => "certified",
        Says::Revoked(_) => "revoked",
        Says::Changed(_) => "changed",
        Says::KnownOtherwise(_) => "known_otherwise",
        Says::Unknown => "unknown",
    }
}

/// Gives the commands that remove old keys from files that are not ours, one for each file.
fn clean_ups(survey: &Survey, accepted: &Accepted) -> Vec<String> {
    let files: BTreeSet<_> = accepted.left.iter().map(|line| line.file.as_path()).collect();
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    files
        .into_iter()
        .map(|file| {
            format!(
                "ssh-keygen -R {} -f {}",
                quoted(&survey.listed_as),
                quoted(&file.display().to_string())
            )
        })
        .collect()
}

impl Outcome {
    fn json(&self) -> Value {
        let survey = &self.survey;
        let presented: Vec<Value> = survey
            .presented
            .iter()
            .map(|key| {
                json!({
                    "algorithm": key.algorithm(),
                    "fingerprint": key.fingerprint(),
                    "verdict": word(&key.judged.verdict),
                    "certificate": key.judged.certificate,
                })
            })
            .collect();
        let lines = |lines: &[KnownKey]| -> Vec<Value> {
            let line = |line: &KnownKey| {
                json!({
                    "algorithm": line.algorithm,
                    "fingerprint": line.fingerprint,
                    "file": line.file,
                    "line": line.line,
                    "file_changed": changed_at(&line.file),
                })
            };
            lines.iter().map(line).collect()
        };
        let accepted = self.accepted.as_ref();
        json!({
            "host": survey.host,
            "listed_as": survey.listed_as,
            "trusted": self.trusted,
            "presented": presented,
            "known": lines(&survey.known),
            "authorities": lines(&survey.authorities),
            "broken_lines": survey.broken_lines,
            "written": accepted.is_some(),
            "removed": accepted.map(|accepted| accepted.removed),
            "clean_up": accepted.map(|accepted| clean_ups(survey, accepted)),
        })
    }
}
