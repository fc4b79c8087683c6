//! Names of this machine's network as addresses. Never through the C library: the program is static.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use hickory_resolver::TokioResolver;

/// How long a look-up may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Gives the addresses of a host.
pub(super) async fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let at = |ip: IpAddr| SocketAddr::new(ip, port);
    if let Ok(ip) = host.parse() {
        return Ok(vec![at(ip)]);
    }
    // RFC 6761: this name never leaves the machine.
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(vec![
            at(IpAddr::from([127, 0, 0, 1])),
            at(IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1_u16])),
        ]);
    }
    let resolver = TokioResolver::builder_tokio()
        .and_then(hickory_resolver::ResolverBuilder::build)
        .map_err(|_| "the resolver's configuration cannot be used".to_owned())?;
    match tokio::time::timeout(PATIENCE, resolver.lookup_ip(host)).await {
        Ok(Ok(found)) => Ok(found.iter().map(at).collect()),
        Ok(Err(error)) if error.is_no_records_found() => Err("no such name is known".to_owned()),
        Ok(Err(_)) => Err("the look-up of the name failed".to_owned()),
        Err(_) => Err(format!("no name server answers within {} s", PATIENCE.as_secs())),
    }
}
