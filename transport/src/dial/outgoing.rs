//! The near end of a TCP connection: `AddressFamily`, `BindAddress`, `BindInterface`.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use tokio::net::{TcpSocket, TcpStream};

use crate::{AddressFamily, Network};

/// Says whether an address is of the family that is asked for.
pub(super) fn is_of(family: AddressFamily, address: &SocketAddr) -> bool {
    match family {
        AddressFamily::Any => true,
        AddressFamily::Inet => address.is_ipv4(),
        AddressFamily::Inet6 => address.is_ipv6(),
    }
}

/// Connects from where the configuration says. As in OpenSSH, an address goes before an interface.
pub(super) async fn connect(network: &Network, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    if let Some(text) = &network.bind_address {
        let own: IpAddr = text
            .parse()
            .map_err(|_| io::Error::other(format!("BindAddress {text} is no address")))?;
        if own.is_ipv4() != address.is_ipv4() {
            return Err(io::Error::other(format!(
                "BindAddress {text} is of another family than {}",
                address.ip()
            )));
        }
        socket
            .bind(SocketAddr::new(own, 0))
            .map_err(|error| io::Error::new(error.kind(), format!("BindAddress {text}: {error}")))?;
    } else if let Some(name) = &network.bind_interface {
        bind_interface(&socket, name)
            .map_err(|error| io::Error::new(error.kind(), format!("BindInterface {name}: {error}")))?;
    }
    socket.connect(address).await
}

#[cfg(target_os = "linux")]
fn bind_interface(socket: &TcpSocket, name: &str) -> io::Result<()> {
    socket.bind_device(Some(name.as_bytes()))
}

#[cfg(not(target_os = "linux"))]
fn bind_interface(_: &TcpSocket, _: &str) -> io::Result<()> {
    Err(io::Error::other("not on this system; use BindAddress"))
}
