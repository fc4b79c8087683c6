//! Real TCP connections over faulty ways. Takes root, as CI is; elsewhere these tests fail and say so.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use faultnet::{Lab, Loss, Mtu, Odds, SERVER_ADDRESS, Shape, Way};

/// What is sent: many packets, and few enough for a way that loses some of them.
const BYTES: usize = 200_000;
/// Long enough for TCP to send again what was lost, several times.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer than anything takes on a sound way.
const SILENCE: Duration = Duration::from_millis(300);

/// Gives a lab and both ends of a connection through it.
fn connected() -> (Lab, TcpStream, TcpStream) {
    let lab = Lab::build(1).unwrap();
    let listener = lab
        .server
        .within(|| TcpListener::bind((SERVER_ADDRESS, 0)))
        .unwrap()
        .unwrap();
    let address = listener.local_addr().unwrap();
    let client = lab
        .client
        .within(|| TcpStream::connect(address))
        .unwrap()
        .unwrap();
    let (server, _) = listener.accept().unwrap();
    for end in [&client, &server] {
        end.set_read_timeout(Some(PATIENCE)).unwrap();
        end.set_write_timeout(Some(PATIENCE)).unwrap();
        end.set_nodelay(true).unwrap();
    }
    (lab, client, server)
}

/// Sends bytes and fails unless exactly they arrive.
fn check_carries(from: &TcpStream, to: &TcpStream) {
    let sent: Vec<u8> = (0..BYTES).map(|index| (index % 251) as u8).collect();
    let received = std::thread::scope(|scope| {
        let (mut from, mut to) = (from, to);
        let sent = &sent;
        scope.spawn(move || from.write_all(sent).unwrap());
        let mut received = vec![0; BYTES];
        to.read_exact(&mut received).unwrap();
        received
    });
    assert!(sent == received);
}

/// Says whether a byte that is sent now arrives soon.
fn arrives(mut from: &TcpStream, mut to: &TcpStream) -> bool {
    from.write_all(b"x").unwrap();
    to.set_read_timeout(Some(SILENCE)).unwrap();
    let arrived = to.read_exact(&mut [0]).is_ok();
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    arrived
}

#[test]
fn tcp_mends_what_is_lost_doubled_and_overtaken() {
    let (lab, client, server) = connected();
    let ms = Duration::from_millis(1);
    lab.shape_both(Shape {
        delay: ms,
        loss: Loss {
            odds: Odds(10),
            burst: 2,
        },
        doubled: Odds(30),
        late: Odds(30),
        held_up: 4 * ms,
        ..Shape::default()
    });
    check_carries(&client, &server);
    check_carries(&server, &client);
    assert!(
        lab.sent_by_client() > BYTES as u64,
        "what was lost was sent again"
    );
}

#[test]
fn a_sender_that_is_told_sends_smaller_packets_and_one_that_is_not_is_stuck() {
    let (lab, client, server) = connected();
    lab.shape(
        Way::Up,
        Shape {
            mtu: Mtu::Told(600),
            ..Shape::default()
        },
    );
    check_carries(&client, &server);

    let (lab, client, server) = connected();
    lab.shape(
        Way::Up,
        Shape {
            mtu: Mtu::Swallowed(600),
            ..Shape::default()
        },
    );
    assert!(arrives(&client, &server), "small ones pass");
    (&client).write_all(&[0; 2000]).unwrap();
    server.set_read_timeout(Some(SILENCE)).unwrap();
    assert!((&server).read_exact(&mut [0; 2000]).is_err());
}

#[test]
fn silence_has_a_direction_and_a_link_that_was_down_comes_up_again() {
    let (lab, client, server) = connected();
    assert!(arrives(&client, &server) && arrives(&server, &client));
    lab.shape(Way::Up, Shape::silence());
    assert!(!arrives(&client, &server));
    assert!(arrives(&server, &client), "the other way goes on");
    lab.shape_both(Shape::default());
    // Sent again by TCP.
    (&server).read_exact(&mut [0]).unwrap();

    lab.set_up(false).unwrap();
    assert!(!arrives(&server, &client));
    lab.set_up(true).unwrap();
    (&client).read_exact(&mut [0]).unwrap();
    assert!(arrives(&client, &server));
}
