//! What a host is called in the end: `HostName`, addresses in their usual spelling, `CanonicalizeHostname`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Machine, Pairs};
use crate::{AddressFamily, known_hosts::pattern_list_matches};

/// Expands `%h` and `%%`, the only tokens of `HostName`.
///
/// # Errors
/// Another token, in words.
pub(super) fn expand_host_name(value: &str, typed: &str) -> Result<String, String> {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let letter = after.chars().next();
        match letter {
            Some('h') => out.push_str(typed),
            Some('%') => out.push('%'),
            Some(other) => return Err(format!("HostName: unknown token %{other} in {value}")),
            None => return Err(format!("HostName: a lone '%' ends {value}")),
        }
        rest = &after[1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Gives the name that counts, once the files have been read.
///
/// # Errors
/// No such host, where the configuration asks for an error; in words.
pub(super) fn host_name(typed: &str, pairs: &Pairs, machine: &dyn Machine) -> Result<String, String> {
    let mut name = match pairs.first("hostname") {
        Some(value) => expand_host_name(&value, typed)?,
        None => typed.to_owned(),
    };
    let family = family(pairs);
    if let Some(address) = address(&name, family) {
        return Ok(address);
    }
    if looks_like_address(&name) {
        return Ok(name);
    }
    name.make_ascii_lowercase();
    let rules = Rules::new(pairs);
    if let Some(found) = rules.canonicalize(&name, family, machine)? {
        return Ok(found);
    }
    if rules.has_aliases() && (rules.is_direct || rules.mode == Mode::Always) {
        match machine.canonical_name(&name, family) {
            Some(alias) => return Ok(rules.follow(name, &alias)),
            // Behind a proxy the name may be one that only the proxy knows.
            None if rules.is_direct => {
                return Err(format!(
                    "could not resolve {name}, for CanonicalizePermittedCNAMEs"
                ));
            }
            None => {}
        }
    }
    Ok(name)
}

/// Says whether the files have to be read again, with the name that was found.
pub(super) fn is_wanted(pairs: &Pairs) -> bool {
    Rules::new(pairs).mode != Mode::No
}

pub(crate) fn family(pairs: &Pairs) -> AddressFamily {
    match pairs
        .first("addressfamily")
        .map(|value| value.to_ascii_lowercase())
        .as_deref()
    {
        Some("inet") => AddressFamily::Inet,
        Some("inet6") => AddressFamily::Inet6,
        _ => AddressFamily::Any,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    No,
    Yes,
    Always,
}

/// The keywords that say how names are canonicalized.
struct Rules<'a> {
    pairs: &'a Pairs,
    mode: Mode,
    /// Whether no proxy stands between.
    is_direct: bool,
}

impl<'a> Rules<'a> {
    fn new(pairs: &'a Pairs) -> Self {
        let mode = match pairs
            .first("canonicalizehostname")
            .map(|value| value.to_ascii_lowercase())
            .as_deref()
        {
            Some("yes" | "true") => Mode::Yes,
            Some("always") => Mode::Always,
            _ => Mode::No,
        };
        let no_command = pairs
            .first("proxycommand")
            .is_none_or(|line| line.eq_ignore_ascii_case("none"));
        Self {
            pairs,
            mode,
            is_direct: no_command && pairs.first("proxyjump").is_none(),
        }
    }

    fn canonicalize(
        &self,
        name: &str,
        family: AddressFamily,
        machine: &dyn Machine,
    ) -> Result<Option<String>, String> {
        if self.mode == Mode::No || (!self.is_direct && self.mode != Mode::Always) {
            return Ok(None);
        }
        let look_up = |full: &str| {
            let alias = machine.canonical_name(full, family)?;
            Some(self.follow(full.trim_end_matches('.').to_owned(), &alias))
        };
        let mut tried = vec![];
        if name.ends_with('.') {
            tried.push(name.to_owned());
        } else {
            let dots = self
                .pairs
                .first("canonicalizemaxdots")
                .and_then(|text| text.parse().ok());
            if name.matches('.').count() > dots.unwrap_or(1) {
                return Ok(None);
            }
            let domains = self.pairs.args("canonicaldomains").unwrap_or_default().iter();
            let domains = domains.take_while(|domain| !domain.eq_ignore_ascii_case("none"));
            tried.extend(
                domains
                    .map(|domain| format!("{name}.{}.", domain.to_ascii_lowercase().trim_end_matches('.'))),
            );
        }
        if let Some(found) = tried.iter().find_map(|full| look_up(full)) {
            return Ok(Some(found));
        }
        let refuse = self
            .pairs
            .first("canonicalizefallbacklocal")
            .is_some_and(|value| ["no", "false"].iter().any(|no| value.eq_ignore_ascii_case(no)));
        if refuse {
            return Err(format!(
                "could not resolve {name} in any of CanonicalDomains, and CanonicalizeFallbackLocal is no"
            ));
        }
        Ok(None)
    }

    fn has_aliases(&self) -> bool {
        let rules = self.pairs.args("canonicalizepermittedcnames").unwrap_or_default();
        rules.iter().any(|rule| !rule.eq_ignore_ascii_case("none"))
    }

    /// Takes the end of a name's CNAMEs for the name, where `CanonicalizePermittedCNAMEs` allows it.
    fn follow(&self, name: String, alias: &str) -> String {
        let alias = alias.trim_end_matches('.');
        let asked = self.mode == Mode::Always || (self.mode == Mode::Yes && self.is_direct);
        if !asked || alias.is_empty() || alias == name {
            return name;
        }
        let rules = self.pairs.args("canonicalizepermittedcnames").unwrap_or_default();
        let permits = |rule: &String| {
            let rule = rule.to_ascii_lowercase();
            let (from, to) = rule.split_once(':').unwrap_or((&rule, &rule));
            pattern_list_matches(from, &name) && pattern_list_matches(to, alias)
        };
        if rules.iter().any(permits) {
            alias.to_owned()
        } else {
            name
        }
    }
}

fn looks_like_address(name: &str) -> bool {
    name.contains(['%', ':']) || name.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Gives an address in its usual spelling, where the name is one of the family.
fn address(name: &str, family: AddressFamily) -> Option<String> {
    if family != AddressFamily::Inet6
        && let Some(address) = v4(name)
    {
        return Some(address.to_string());
    }
    if family == AddressFamily::Inet {
        return None;
    }
    let (name, zone) = match name.split_once('%') {
        Some((name, zone)) => (name, Some(zone)),
        None => (name, None),
    };
    let address: Ipv6Addr = name.parse().ok()?;
    match zone {
        None => Some(v6(address)),
        // Whether there is such an interface turns out when it is used.
        Some(zone) if !zone.is_empty() && is_link_local(address) => Some(format!("{}%{zone}", v6(address))),
        Some(_) => None,
    }
}

fn is_link_local(address: Ipv6Addr) -> bool {
    address.is_unicast_link_local() || address.segments()[0] & 0xff0f == 0xff02
}

/// Writes an address as inet_ntop(3) does, which knows an older form with dots.
fn v6(address: Ipv6Addr) -> String {
    let segments = address.segments();
    if segments[..6] == [0; 6] && segments[6] != 0 {
        let low = u32::from(segments[6]) << 16 | u32::from(segments[7]);
        return format!("::{}", Ipv4Addr::from(low));
    }
    IpAddr::V6(address).to_string()
}

/// Reads an address as inet_aton(3) does: one to four numbers, decimal, octal or hexadecimal.
fn v4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|&part| part > 255) {
        return None;
    }
    let room = 8 * (4 - u32::try_from(first.len()).ok()?);
    if *last >= 1_u64 << room {
        return None;
    }
    let high = first.iter().fold(0_u64, |high, part| high << 8 | part);
    u32::try_from(high << room | last).ok().map(Ipv4Addr::from)
}

fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    let plain = digits.chars().all(|c| c.is_digit(radix));
    u64::from_str_radix(digits, radix).ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_their_usual_spelling() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(address(name, AddressFamily::Any).as_deref(), expected, "{name}");
        };
        check("127.1", Some("127.0.0.1"));
        check("0x7f000001", Some("127.0.0.1"));
        check("010.1.2.3", Some("8.1.2.3"));
        check("2130706433", Some("127.0.0.1"));
        check("1.2.3.4.5", None);
        check("1.2.3.256", None);
        check("256.1", None);
        check("::0001", Some("::1"));
        check("2001:DB8::A", Some("2001:db8::a"));
        check("::1.2.3.4", Some("::1.2.3.4"));
        check("::ffff:1.2.3.4", Some("::ffff:1.2.3.4"));
        check("fe80::01%eth0", Some("fe80::1%eth0"));
        check("2001:db8::1%eth0", None);
        check("alpha", None);
        check("", None);
        check("1.2.3.", None);
        assert_eq!(address("::1", AddressFamily::Inet), None);
        assert_eq!(address("127.0.0.1", AddressFamily::Inet6), None);
    }
}
