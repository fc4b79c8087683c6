//! The keywords of ssh_config(5): which there are, and what OpenSSH takes for their value.
//!
//! Values that count here are checked as OpenSSH checks them, wherever they stand. Values that do not (algorithms,
//! forwards, terminals) are passed over: a newer OpenSSH knows more of them than we do.

/// What a keyword takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One argument.
    Text,
    /// One of these words, in any case.
    OneOf(&'static [&'static str]),
    /// A whole number.
    Number,
    /// Seconds, `1h30m` or `none`.
    Time,
    /// A port.
    Port,
    /// Several arguments, or `none` alone.
    List,
    /// One argument of a list that grows with every line.
    Adds,
    /// `SendEnv` and `SetEnv`.
    Environment,
    /// A path, `none`, `SSH_AUTH_SOCK` or `$NAME`.
    Agent,
    /// The rest of the line, for a shell.
    Command,
    /// Jump hosts.
    Jump,
    /// What opens a block or a file: `Host`, `Match`, `Include`.
    Structure,
    /// Anything: it does not apply here.
    Any,
}

const FLAG: Shape = Shape::OneOf(&["yes", "no", "true", "false"]);
const YES_NO_ASK: Shape = Shape::OneOf(&["yes", "no", "true", "false", "ask"]);
const CANONICALIZE: Shape = Shape::OneOf(&["yes", "no", "true", "false", "always"]);
const STRICT: Shape = Shape::OneOf(&["yes", "no", "true", "false", "ask", "off", "accept-new"]);
const PUBLIC_KEY: Shape = Shape::OneOf(&["yes", "no", "true", "false", "unbound", "host-bound"]);

/// Finds a keyword (in lower case): the name that counts where there are several, and what it takes.
pub(super) fn find(keyword: &str) -> Option<(&'static str, Shape)> {
    if let Some((_, name, shape)) = COUNTS.iter().find(|(written, ..)| *written == keyword) {
        return Some((name, *shape));
    }
    if let Some(name) = FLAGS.iter().find(|name| **name == keyword) {
        return Some((name, FLAG));
    }
    PASSED_OVER
        .iter()
        .find(|name| **name == keyword)
        .map(|name| (*name, Shape::Any))
}

/// As written, the name that counts, the value.
const COUNTS: [(&str, &str, Shape); 49] = [
    (
        "addressfamily",
        "addressfamily",
        Shape::OneOf(&["inet", "inet6", "any"]),
    ),
    ("bindaddress", "bindaddress", Shape::Text),
    ("bindinterface", "bindinterface", Shape::Text),
    ("canonicaldomains", "canonicaldomains", Shape::List),
    ("canonicalizehostname", "canonicalizehostname", CANONICALIZE),
    ("canonicalizemaxdots", "canonicalizemaxdots", Shape::Number),
    (
        "canonicalizepermittedcnames",
        "canonicalizepermittedcnames",
        Shape::List,
    ),
    ("certificatefile", "certificatefile", Shape::Adds),
    (
        "challengeresponseauthentication",
        "kbdinteractiveauthentication",
        FLAG,
    ),
    ("connectionattempts", "connectionattempts", Shape::Number),
    ("connecttimeout", "connecttimeout", Shape::Time),
    ("controlpath", "controlpath", Shape::Text),
    ("dsaauthentication", "pubkeyauthentication", PUBLIC_KEY),
    ("globalknownhostsfile", "globalknownhostsfile", Shape::List),
    ("host", "host", Shape::Structure),
    ("hostkeyalias", "hostkeyalias", Shape::Text),
    ("hostname", "hostname", Shape::Text),
    ("identityagent", "identityagent", Shape::Agent),
    ("identityfile", "identityfile", Shape::Adds),
    ("identityfile2", "identityfile", Shape::Adds),
    ("ignoreunknown", "ignoreunknown", Shape::Text),
    ("include", "include", Shape::Structure),
    ("kbdinteractivedevices", "kbdinteractivedevices", Shape::Text),
    ("knownhostscommand", "knownhostscommand", Shape::Command),
    ("localcommand", "localcommand", Shape::Command),
    ("match", "match", Shape::Structure),
    (
        "numberofpasswordprompts",
        "numberofpasswordprompts",
        Shape::Number,
    ),
    ("pkcs11provider", "pkcs11provider", Shape::Text),
    ("port", "port", Shape::Port),
    (
        "preferredauthentications",
        "preferredauthentications",
        Shape::Text,
    ),
    ("proxycommand", "proxycommand", Shape::Command),
    ("proxyjump", "proxyjump", Shape::Jump),
    ("pubkeyauthentication", "pubkeyauthentication", PUBLIC_KEY),
    ("remotecommand", "remotecommand", Shape::Command),
    ("requiredrsasize", "requiredrsasize", Shape::Number),
    ("revokedhostkeys", "revokedhostkeys", Shape::Text),
    ("securitykeyprovider", "securitykeyprovider", Shape::Text),
    ("sendenv", "sendenv", Shape::Environment),
    ("serveralivecountmax", "serveralivecountmax", Shape::Number),
    ("serveraliveinterval", "serveraliveinterval", Shape::Time),
    ("setenv", "setenv", Shape::Environment),
    ("skeyauthentication", "kbdinteractiveauthentication", FLAG),
    ("stricthostkeychecking", "stricthostkeychecking", STRICT),
    ("tag", "tag", Shape::Text),
    ("tisauthentication", "kbdinteractiveauthentication", FLAG),
    ("updatehostkeys", "updatehostkeys", YES_NO_ASK),
    ("user", "user", Shape::Text),
    ("userknownhostsfile", "userknownhostsfile", Shape::List),
    ("verifyhostkeydns", "verifyhostkeydns", YES_NO_ASK),
];

/// `yes` or `no`.
const FLAGS: [&str; 31] = [
    "batchmode",
    "canonicalizefallbacklocal",
    "checkhostip",
    "clearallforwardings",
    "enableescapecommandline",
    "enablesshkeysign",
    "exitonforwardfailure",
    "forkafterauthentication",
    "forwardx11",
    "forwardx11trusted",
    "gatewayports",
    "gssapiauthentication",
    "gssapidelegatecredentials",
    "hashknownhosts",
    "hostbasedauthentication",
    "identitiesonly",
    "kbdinteractiveauthentication",
    "keepalive",
    "nohostauthenticationforlocalhost",
    "passwordauthentication",
    "permitlocalcommand",
    "proxyusefdpass",
    "stdinnull",
    "streamlocalbindunlink",
    "tcpkeepalive",
    "visualhostkey",
    "warnweakcrypto",
    "gssapitrustdns",
    "gssapikeyexchange",
    "gssapirenewalforcesrekey",
    "rsaauthentication",
];

/// What does not apply to our connections, what OpenSSH ignores itself, and what distributions add to it.
const PASSED_OVER: [&str; 54] = [
    "addkeystoagent",
    "casignaturealgorithms",
    "channeltimeout",
    "cipher",
    "ciphers",
    "compression",
    "compressionlevel",
    "controlmaster",
    "controlpersist",
    "dynamicforward",
    "escapechar",
    "fallbacktorsh",
    "fingerprinthash",
    "forwardagent",
    "forwardx11timeout",
    "globalknownhostsfile2",
    "gssapiclientidentity",
    "gssapikexalgorithms",
    "gssapiserveridentity",
    "hostbasedacceptedalgorithms",
    "hostbasedkeytypes",
    "hostkeyalgorithms",
    "ipqos",
    "kerberosauthentication",
    "kerberostgtpassing",
    "afstokenpassing",
    "kexalgorithms",
    "localforward",
    "loglevel",
    "logverbose",
    "macs",
    "obscurekeystroketiming",
    "permitremoteopen",
    "protocol",
    "protocolkeepalives",
    "pubkeyacceptedalgorithms",
    "pubkeyacceptedkeytypes",
    "refuseconnection",
    "rekeylimit",
    "remoteforward",
    "requesttty",
    "rhostsauthentication",
    "rhostsrsaauthentication",
    "sessiontype",
    "setuptimeout",
    "smartcarddevice",
    "streamlocalbindmask",
    "syslogfacility",
    "tunnel",
    "tunneldevice",
    "useprivilegedport",
    "useroaming",
    "usersh",
    "versionaddendum",
];

/// Checks the arguments of a keyword, for those whose arguments are words.
///
/// # Errors
/// What is wrong, in words, naming the argument.
pub(super) fn check(keyword: &str, shape: Shape, args: &[String]) -> Result<(), String> {
    if let Shape::List = shape {
        return list(keyword, args);
    }
    if let Shape::Environment = shape {
        let bad = |arg: &&String| match keyword {
            "setenv" => !arg.contains('='),
            _ => arg.is_empty() || arg.contains('='),
        };
        return match args.iter().find(bad) {
            Some(arg) => Err(format!(
                "{keyword}: {arg} is not {}",
                if keyword == "setenv" {
                    "NAME=VALUE"
                } else {
                    "the name of a variable"
                }
            )),
            None => Ok(()),
        };
    }
    let takes_one = !matches!(
        shape,
        Shape::Command | Shape::Jump | Shape::Structure | Shape::Any
    );
    if !takes_one {
        return Ok(());
    }
    let value = match args {
        [] => return Err(format!("no value after {keyword}")),
        [value] if value.is_empty() => return Err(format!("the value of {keyword} is empty")),
        [value] => value,
        [_, second, ..] => return Err(format!("{keyword} takes one value, and {second} follows it")),
    };
    let fits = match shape {
        Shape::OneOf(words) => words.iter().any(|word| word.eq_ignore_ascii_case(value)),
        Shape::Number => value.parse::<i32>().is_ok_and(|number| number >= 0),
        Shape::Time => value == "none" || seconds(value).is_some(),
        Shape::Port => port(value).is_some(),
        _ => true,
    };
    if fits {
        return Ok(());
    }
    Err(match shape {
        Shape::OneOf(words) => format!("{keyword} does not take {value}, but {}", words.join(", ")),
        Shape::Time => format!("{keyword}: {value} is no time, as in 90, 1m30s or none"),
        Shape::Port => format!("{keyword}: {value} is no port number"),
        _ => format!("{keyword}: {value} is no number"),
    })
}

fn list(keyword: &str, args: &[String]) -> Result<(), String> {
    let is_none = |arg: &String| arg.eq_ignore_ascii_case("none");
    if args.iter().any(String::is_empty) {
        return Err(format!("a value of {keyword} is empty"));
    }
    if args.len() > 1 && args.iter().any(is_none) {
        return Err(format!("{keyword}: 'none' must stand alone"));
    }
    let bad = args.iter().find(|arg| match keyword {
        "canonicaldomains" => !is_domain(arg),
        "canonicalizepermittedcnames" => {
            !is_none(arg) && *arg != "*" && arg.split_once(':').is_none_or(|(_, to)| to.is_empty())
        }
        _ => false,
    });
    match bad {
        Some(arg) => Err(format!("{keyword}: {arg} cannot be used")),
        None => Ok(()),
    }
}

fn is_domain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.contains("..")
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
}

/// Reads a time (sshd_config(5), TIME FORMATS), in seconds.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let most = u64::from(i32::MAX.unsigned_abs());
    let (mut total, mut rest) = (0_u64, text);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        let unit = after.chars().next();
        let factor = match unit.map(|c| c.to_ascii_lowercase()) {
            None | Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 86_400,
            Some('w') => 604_800,
            Some(_) => return None,
        };
        total = total.checked_add(digits.parse::<u64>().ok()?.checked_mul(factor)?)?;
        if total > most {
            return None;
        }
        rest = &after[unit.map_or(0, char::len_utf8)..];
    }
    (!text.is_empty()).then_some(total)
}

/// Reads a port: a number, or one of the names that services(5) has for what SSH is reached through.
pub(crate) fn port(text: &str) -> Option<u16> {
    match text {
        "ssh" => Some(22),
        "http" => Some(80),
        "https" => Some(443),
        _ => text.parse().ok().filter(|&port| port > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let good = [
            ("90", 90),
            ("1m30s", 90),
            ("2H", 7200),
            ("1w1d", 691_200),
            ("1m30", 90),
            ("0", 0),
        ];
        for (text, expected) in good {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "m", "-1", "1x", "1 m", "99999999999", "1m-1", "7000w"] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    #[test]
    fn every_keyword_is_there_once() {
        let mut names: Vec<&str> = COUNTS.iter().map(|(name, ..)| *name).collect();
        names.extend(FLAGS.iter().chain(&PASSED_OVER));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| *name == name.to_ascii_lowercase()));
    }
}
