//! The conditions of a `Match` line.

use std::{borrow::Cow, net::IpAddr};

use super::{
    lexer::Words,
    reader::Reader,
    tokens::{Set, Tokens},
};
use crate::known_hosts::pattern_list_matches;

/// What the conditions have come to so far.
#[derive(Default)]
struct Verdict {
    seen: usize,
    /// Whether one of them did not hold.
    failed: bool,
}

/// Says whether all conditions hold. Where `asleep`, no command is run: the answer does not count.
///
/// # Errors
/// What OpenSSH would reject, in words.
pub(super) fn holds(reader: &mut Reader<'_>, conditions: &str, asleep: bool) -> Result<bool, String> {
    let mut verdict = Verdict {
        failed: asleep,
        ..Verdict::default()
    };
    let mut words = Words::new(conditions);
    while let Some(word) = words
        .take()
        .filter(|word| !word.is_empty() && !word.starts_with('#'))
    {
        let (criterion, negated) = match word.strip_prefix('!') {
            Some(rest) => (rest.to_ascii_lowercase(), true),
            None => (word.to_ascii_lowercase(), false),
        };
        if criterion == "all" {
            let next = words
                .take()
                .filter(|word| !word.is_empty() && !word.starts_with('#'));
            if verdict.seen > 1 || next.is_some() {
                return Err(format!("Match {word} cannot be combined with other conditions"));
            }
            return Ok(!verdict.failed && !negated);
        }
        verdict.seen += 1;
        let hit = if matches!(criterion.as_str(), "final" | "canonical") {
            reader.wants_final |= criterion == "final";
            Some(reader.is_final)
        } else {
            let value = words
                .take()
                .filter(|word| !word.is_empty() && !word.starts_with('#'));
            let Some(value) = value else {
                return Err(format!("no value after Match {criterion}"));
            };
            decide(reader, &criterion, &value, verdict.failed)?
        };
        // What cannot be known here holds in neither spelling, so that no setting applies by accident.
        verdict.failed |= hit.is_none_or(|hit| hit == negated);
    }
    if verdict.seen == 0 {
        return Err("Match needs a condition".to_owned());
    }
    Ok(!verdict.failed)
}

fn decide(reader: &Reader<'_>, criterion: &str, value: &str, failed: bool) -> Result<Option<bool>, String> {
    let query = &reader.query;
    let lower = value.to_ascii_lowercase();
    let first = |keyword: &str| reader.pairs.first(keyword);
    let user = || first("user").unwrap_or_else(|| query.local_user.to_owned());
    Ok(Some(match criterion {
        "host" => pattern_list_matches(&lower, &host_name(reader)?.to_ascii_lowercase()),
        "originalhost" => pattern_list_matches(&lower, &query.target.host.to_ascii_lowercase()),
        "user" => pattern_list_matches(value, &user()),
        "localuser" => pattern_list_matches(value, query.local_user),
        "tagged" => pattern_list_matches(value, &first("tag").unwrap_or_default()),
        "localnetwork" => match reader.machine.own_addresses() {
            Some(own) => in_networks(value, &own)?,
            None => return Ok(None),
        },
        "exec" => {
            let host_name = host_name(reader)?;
            let key_alias = first("hostkeyalias");
            let tokens = Tokens {
                home: query.home,
                local_user: query.local_user,
                typed: &query.target.host,
                host_name: &host_name,
                port: first("port")
                    .and_then(|port| super::keywords::port(&port))
                    .unwrap_or(22),
                user: &user(),
                key_alias: key_alias.as_deref().unwrap_or(&host_name),
                jump: "",
                environment: query.environment,
            };
            let command = tokens.expand(value, Set::Exec)?;
            if failed {
                return Ok(Some(false));
            }
            reader
                .machine
                .succeeds(&command)
                .map_err(|why| format!("Match exec {}: {why}", stdx::bounded::one_line(value, 80)))?
        }
        // Nobody is here to say which these are.
        "version" | "sessiontype" | "command" => return Ok(None),
        other => return Err(format!("Match does not know {other}")),
    }))
}

/// The name that the configuration has given to the host so far.
fn host_name<'a>(reader: &'a Reader<'_>) -> Result<Cow<'a, str>, String> {
    match reader.pairs.first("hostname") {
        Some(name) if !reader.is_final => {
            super::canonical::expand_host_name(&name, &reader.query.target.host).map(Cow::Owned)
        }
        _ => Ok(Cow::Borrowed(&reader.host)),
    }
}

/// Says whether one of these addresses lies in a list of networks: `10.0.0.0/8,!10.1.0.0/16`.
fn in_networks(list: &str, addresses: &[IpAddr]) -> Result<bool, String> {
    let mut hit = false;
    for entry in list.split(',') {
        let (network, negated) = entry
            .strip_prefix('!')
            .map_or((entry, false), |rest| (rest, true));
        let bad = || format!("Match localnetwork: {entry} is no network");
        let (address, bits) = match network.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().map_err(|_| bad())?)),
            None => (network, None),
        };
        let address: IpAddr = address.parse().map_err(|_| bad())?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(width);
        if bits > width {
            return Err(bad());
        }
        let inside = |own: &IpAddr| {
            own.is_ipv4() == address.is_ipv4()
                && (value(*own) ^ value(address))
                    .checked_shr(width - bits)
                    .unwrap_or(0)
                    == 0
        };
        if addresses.iter().any(inside) {
            if negated {
                return Ok(false);
            }
            hit = true;
        }
    }
    Ok(hit)
}

fn value(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let own = ["10.1.2.3", "fe80::1", "192.168.0.7"].map(|text| text.parse().unwrap());
        let check = |list: &str, expected: bool| assert_eq!(in_networks(list, &own), Ok(expected), "{list}");
        check("10.0.0.0/8", true);
        check("10.2.0.0/16", false);
        check("172.16.0.0/12,192.168.0.7", true);
        check("10.0.0.0/8,!192.168.0.0/24", false);
        check("fe80::/10", true);
        check("0.0.0.0/0", true);
        check("::/0", true);
        assert!(in_networks("10.0.0.0/33", &own).is_err() && in_networks("x", &own).is_err());
    }
}
