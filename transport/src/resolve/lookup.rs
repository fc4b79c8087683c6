//! Name look-ups for `CanonicalizeHostname`.

use std::{net::IpAddr, time::Duration};

use hickory_resolver::TokioResolver;

use crate::AddressFamily;

/// Looks a name up with the system's configuration and its hosts file; gives the end of its CNAMEs if it has addresses of
/// the family. A failure of any kind is no answer: the next name is tried, as OpenSSH does.
pub(super) async fn canonical_name(name: &str, family: AddressFamily, deadline: Duration) -> Option<String> {
    let resolver = TokioResolver::builder_tokio()
        .and_then(hickory_resolver::ResolverBuilder::build)
        .ok()?;
    let found = tokio::time::timeout(deadline, resolver.lookup_ip(name))
        .await
        .ok()?
        .ok()?;
    let fits = |ip: IpAddr| match family {
        AddressFamily::Any => true,
        AddressFamily::Inet => ip.is_ipv4(),
        AddressFamily::Inet6 => ip.is_ipv6(),
    };
    if !found.iter().any(fits) {
        return None;
    }
    let answers = found.as_lookup().answers();
    let last = answers.iter().find(|record| record.data.ip_addr().is_some());
    let end = last.map_or_else(|| name.to_owned(), |record| record.name.to_string());
    Some(end.trim_end_matches('.').to_ascii_lowercase())
}
