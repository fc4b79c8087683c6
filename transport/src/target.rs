//! What a user types to name a host: `alias`, `user@host:port`, `[::1]:22`.

use std::{fmt, str::FromStr};

use crate::{Error, ErrorKind, Stage};

/// A host as typed; nothing is looked up yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The user name before `@`, if typed.
    pub user: Option<String>,
    /// A host name, an address or an alias of the OpenSSH configuration.
    pub host: String,
    /// The port after `:`, if typed.
    pub port: Option<u16>,
}

impl Target {
    /// Makes a target that names only a host.
    #[must_use]
    pub fn host(host: impl Into<String>) -> Self {
        Self {
            user: None,
            host: host.into(),
            port: None,
        }
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = |message: &str| Err(Error::new(ErrorKind::Config, Stage::Config, text, message));
        let text = text.strip_prefix("ssh://").unwrap_or(text);
        // The last `@` splits: user names of some bastions contain one themselves.
        let (user, rest) = match text.rsplit_once('@') {
            Some(("", _)) => return bad("the user name before '@' is empty"),
            Some((user, rest)) => (Some(user.to_owned()), rest),
            None => (None, text),
        };
        let (host, port) = if let Some(inner) = rest.strip_prefix('[') {
            let Some((host, after)) = inner.split_once(']') else {
                return bad("'[' without ']'");
            };
            match after.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if after.is_empty() => (host, None),
                None => return bad("only ':port' may follow ']'"),
            }
        } else if rest.matches(':').count() > 1 {
            (rest, None) // A bare IPv6 address.
        } else {
            match rest.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (rest, None),
            }
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return bad("the port is not a number from 1 to 65535"),
        };
        // Names reach `ssh -G` and ProxyCommand lines, so nothing that a shell or an option parser would read.
        let odd = |c: char| c.is_whitespace() || c.is_control() || "'\"`$\\;&<>|(){}*?!/".contains(c);
        if host.is_empty() || host.starts_with('-') || host.contains(odd) {
            return bad("the host name is empty or has characters that no host name has");
        }
        if user
            .as_deref()
            .is_some_and(|user| user.starts_with('-') || user.contains(odd))
        {
            return bad("the user name has characters that no user name has");
        }
        Ok(Self {
            user,
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        match self.port {
            Some(port) if self.host.contains(':') => write!(f, "[{}]:{port}", self.host),
            // Without its brackets, what follows the only colon would be a port.
            None if self.host.matches(':').count() == 1 => write!(f, "[{}]", self.host),
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, user: Option<&str>, host: &str, port: Option<u16>) {
        let target: Target = text.parse().unwrap();
        assert_eq!(
            (target.user.as_deref(), target.host.as_str(), target.port),
            (user, host, port),
            "{text}"
        );
        assert_eq!(target.to_string().parse::<Target>().unwrap(), target, "{text}");
    }

    #[test]
    fn reads_the_usual_spellings() {
        check("box", None, "box", None);
        check("me@box:2222", Some("me"), "box", Some(2222));
        check("ssh://me@box:22", Some("me"), "box", Some(22));
        check("[::1]:2200", None, "::1", Some(2200));
        check("a@[fe80::1%eth0]", Some("a"), "fe80::1%eth0", None);
        check("::1", None, "::1", None);
        check("me@[a:b]", Some("me"), "a:b", None);
        check("me@corp@bastion", Some("me@corp"), "bastion", None);
    }

    #[test]
    fn refuses_what_is_no_host() {
        for text in [
            "",
            "@box",
            "box:0",
            "box:99999",
            "box:x",
            "[::1",
            "[::1]x",
            "-oProxyCommand=x",
            "a b",
            "$(x)",
            "-l@b",
        ] {
            assert_eq!(
                text.parse::<Target>().unwrap_err().kind(),
                ErrorKind::Config,
                "{text}"
            );
        }
    }
}
