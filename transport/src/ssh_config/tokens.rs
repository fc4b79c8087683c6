//! `%` tokens, `${VARIABLE}` and `~` in configuration values (ssh_config(5), TOKENS).

use std::path::PathBuf;

use ring::digest;

/// What the tokens stand for.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'a> {
    /// `%d` and `~`: the local home directory.
    pub(crate) home: &'a str,
    /// `%u`: the local user.
    pub(crate) local_user: &'a str,
    /// `%n`: the host as typed.
    pub(crate) typed: &'a str,
    /// `%h`: the host name.
    pub(crate) host_name: &'a str,
    /// `%p`: the port.
    pub(crate) port: u16,
    /// `%r`: the user on the host.
    pub(crate) user: &'a str,
    /// `%k`: the host key alias, else the host as typed.
    pub(crate) key_alias: &'a str,
    /// `%j`: the jump host, or empty.
    pub(crate) jump: &'a str,
    /// Variables for `${NAME}`.
    pub(crate) environment: &'a [(String, String)],
}

/// Which tokens a keyword takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// `ProxyCommand`: `%h %k %n %p %r`, and no `~` or `${}`: its shell does those.
    Command,
    /// `Match exec`: every token, and no `~` or `${}`.
    Exec,
    /// Files: everything.
    File,
}

/// Replaces `${NAME}` by the variable.
///
/// # Errors
/// A variable that is not set or a brace that is not closed, in words.
pub(crate) fn variables(value: &str, environment: &[(String, String)]) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            return Err(format!("'${{' without '}}' in {value}"));
        };
        let Some((_, found)) = environment.iter().find(|(key, _)| key == name) else {
            return Err(format!("the variable {name} in {value} is not set"));
        };
        out.push_str(found);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

impl Tokens<'_> {
    /// Expands a value.
    ///
    /// # Errors
    /// The token or variable that is not known, in words.
    pub(crate) fn expand(&self, value: &str, set: Set) -> Result<String, String> {
        if set != Set::File {
            return self.percent(value, set);
        }
        let value = self.tilde(value)?;
        let mut out = String::with_capacity(value.len());
        let mut rest = value.as_str();
        // What a token or a variable gives is not looked at again.
        while let Some(at) = rest.find("${") {
            let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
            out.push_str(&self.percent(&rest[..at], set)?);
            out.push_str(&variables(&rest[at..end], self.environment)?);
            rest = &rest[end..];
        }
        out.push_str(&self.percent(rest, set)?);
        Ok(out)
    }

    /// Expands a leading `~` or `~user`.
    ///
    /// # Errors
    /// A user who does not exist here, in words.
    pub(crate) fn tilde(&self, value: &str) -> Result<String, String> {
        let Some(after) = value.strip_prefix('~') else {
            return Ok(value.to_owned());
        };
        let (user, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
        if user.is_empty() {
            return Ok(format!("{}{rest}", self.home));
        }
        let home = crate::resolve::home_of(user)
            .ok_or_else(|| format!("no user {user} is known here, for {value}"))?;
        Ok(format!("{}{rest}", home.display()))
    }

    fn percent(&self, value: &str, set: Set) -> Result<String, String> {
        let mut out = String::with_capacity(value.len());
        let mut rest = value;
        while let Some((before, after)) = rest.split_once('%') {
            out.push_str(before);
            let Some(letter) = after.chars().next() else {
                return Err(format!("a lone '%' ends {value}"));
            };
            let Some(text) = self.token(letter, set) else {
                return Err(format!("unknown token %{letter} in {value}"));
            };
            out.push_str(&text);
            rest = &after[letter.len_utf8()..];
        }
        out.push_str(rest);
        Ok(out)
    }

    /// Expands a file name; a relative one stays relative.
    ///
    /// # Errors
    /// As [`Tokens::expand`].
    pub(crate) fn path(&self, value: &str) -> Result<PathBuf, String> {
        self.expand(value, Set::File).map(PathBuf::from)
    }

    fn token(&self, letter: char, set: Set) -> Option<String> {
        let connection = match letter {
            '%' => Some("%".to_owned()),
            'h' => Some(self.host_name.to_owned()),
            'k' => Some(self.key_alias.to_owned()),
            'n' => Some(self.typed.to_owned()),
            'p' => Some(self.port.to_string()),
            'r' => Some(self.user.to_owned()),
            _ => None,
        };
        if connection.is_some() || set == Set::Command {
            return connection;
        }
        let node = || rustix::system::uname().nodename().to_string_lossy().into_owned();
        match letter {
            'd' => Some(self.home.to_owned()),
            'u' => Some(self.local_user.to_owned()),
            'j' => Some(self.jump.to_owned()),
            'i' => Some(rustix::process::getuid().as_raw().to_string()),
            'l' => Some(node()),
            'L' => Some(node().split('.').next().unwrap_or_default().to_owned()),
            'C' => {
                let text = format!(
                    "{}{}{}{}{}",
                    node(),
                    self.host_name,
                    self.port,
                    self.user,
                    self.jump
                );
                let hash = digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes());
                Some(hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_and_names_what_it_does_not_know() {
        let environment = [("HOME".to_owned(), "/h".to_owned())];
        let tokens = Tokens {
            home: "/h",
            local_user: "me",
            typed: "alias",
            host_name: "real",
            port: 2200,
            user: "you",
            key_alias: "alias",
            jump: "",
            environment: &environment,
        };
        let file = |value: &str| tokens.expand(value, Set::File);
        assert_eq!(file("~/.ssh/id").unwrap(), "/h/.ssh/id");
        assert_eq!(
            file("%d/%u-%h-%r-%n-%p-%k%%").unwrap(),
            "/h/me-real-you-alias-2200-alias%"
        );
        assert_eq!(file("${HOME}/x$y").unwrap(), "/h/x$y");
        assert!(file("a%q").unwrap_err().contains("%q"));
        assert!(file("a%").is_err() && file("${NO}").unwrap_err().contains("NO") && file("${x").is_err());
        assert_eq!(
            tokens.expand("nc %h %p $X ~", Set::Command).unwrap(),
            "nc real 2200 $X ~"
        );
        assert!(tokens.expand("%d", Set::Command).is_err() && tokens.expand("%d ${NO}", Set::Exec).is_ok());
    }
}
