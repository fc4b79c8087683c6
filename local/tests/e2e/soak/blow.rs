//! What goes wrong, as it follows from a seed (pure).

use std::time::Duration;

use faultnet::{Loss, Mtu, Odds, Shape};
use transport::testing::{Choices, Fault, FaultKind};

/// What can go wrong with a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Means {
    /// Agents are killed: turns may then be interrupted, and what they began is unknown.
    pub(super) kills: bool,
    /// Packets pass through namespaces and may be lost there.
    pub(super) packets: bool,
}

impl Means {
    /// Gives those of a seed: most have to bring everything to its end, some have agents that die.
    pub(super) fn of(seed: u64) -> Self {
        Self {
            kills: seed.is_multiple_of(4),
            packets: seed % 5 == 2,
        }
    }
}

/// What kind of thing goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Between client and sshd.
    Network(FaultKind),
    /// The connection, and the next one in the middle of its handshake.
    Handshake,
    /// The host's end of the login is killed.
    SessionKill,
    /// The host's end of the login stands still.
    SessionStop,
    AgentKill,
    AgentStop,
    /// The client forgets everything and begins anew.
    ClientRestart,
    /// Packets are lost, doubled and overtaken.
    Loss,
    /// Big packets disappear and nobody is told.
    PacketSize,
    /// The cable is pulled.
    LinkDown,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Network(kind) => kind.name(),
            Self::Handshake => "cut-in-handshake",
            Self::SessionKill => "sshd-session-killed",
            Self::SessionStop => "sshd-session-stopped",
            Self::AgentKill => "agent-killed",
            Self::AgentStop => "agent-stopped",
            Self::ClientRestart => "client-restarted",
            Self::Loss => "packet-loss",
            Self::PacketSize => "packet-size",
            Self::LinkDown => "link-down",
        }
    }
}

/// One fault and its times.
#[derive(Debug, Clone, Copy)]
pub(super) struct Blow {
    pub(super) kind: Kind,
    /// How long all is well before it.
    pub(super) pause: Duration,
    /// How long it lasts, where it lasts.
    pub(super) lasts: Duration,
    /// What happens between client and sshd.
    pub(super) fault: Fault,
    /// What happens to packets.
    pub(super) shape: Shape,
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// How often each kind comes, relative to the others.
fn weights(means: Means) -> Vec<(Kind, u32)> {
    let when = |means: bool, weight| if means { weight } else { 0 };
    vec![
        (Kind::Network(FaultKind::Cut), 8),
        (Kind::Network(FaultKind::CutAfter), 8),
        (Kind::Network(FaultKind::Reset), 8),
        (Kind::Network(FaultKind::HalfClose), 5),
        (Kind::Network(FaultKind::HalfOpen), 5),
        (Kind::Network(FaultKind::BlackHole), 5),
        (Kind::Network(FaultKind::Silence), 4),
        (Kind::Network(FaultKind::Trickle), 4),
        (Kind::Network(FaultKind::SlowAccept), 4),
        (Kind::Network(FaultKind::Refuse), 5),
        (Kind::Handshake, 6),
        (Kind::SessionKill, 7),
        (Kind::SessionStop, 4),
        (Kind::AgentStop, 4),
        (Kind::AgentKill, when(means.kills, 6)),
        (Kind::ClientRestart, 6),
        (Kind::Loss, when(means.packets, 12)),
        (Kind::PacketSize, when(means.packets, 4)),
        (Kind::LinkDown, when(means.packets, 4)),
    ]
}

/// Gives the bounds of how long a kind lasts. Some are noticed, some are over before.
fn bounds(kind: Kind) -> (Duration, Duration) {
    match kind {
        Kind::Network(FaultKind::BlackHole | FaultKind::Silence) => (ms(100), ms(1600)),
        Kind::Network(FaultKind::Trickle) | Kind::SessionStop | Kind::AgentStop => (ms(200), ms(1500)),
        Kind::Network(FaultKind::Refuse | FaultKind::SlowAccept) => (ms(50), ms(600)),
        Kind::Loss | Kind::PacketSize | Kind::LinkDown => (ms(200), ms(1200)),
        _ => (ms(0), ms(0)),
    }
}

/// Gives the faults of a seed.
pub(super) fn seeded(choices: &mut Choices, count: usize, means: Means) -> Vec<Blow> {
    let weights = weights(means);
    let draw = |_| {
        let kind = choices.weighted(&weights).unwrap();
        let (least, most) = bounds(kind);
        let fault = match kind {
            Kind::Network(kind) => kind,
            _ => FaultKind::CutAfter,
        };
        Blow {
            kind,
            pause: choices.between(ms(0), ms(150)),
            lasts: choices.between(least, most),
            fault: Fault::draw(fault, choices),
            shape: shape(kind, choices),
        }
    };
    (0..count).map(draw).collect()
}

fn shape(kind: Kind, choices: &mut Choices) -> Shape {
    let mut odds = |most| Odds(u16::try_from(choices.below(most)).unwrap());
    match kind {
        Kind::Loss => Shape {
            delay: ms(2),
            loss: Loss {
                odds: odds(200),
                burst: odds(6).0,
            },
            doubled: odds(100),
            late: odds(200),
            held_up: ms(30),
            ..Shape::default()
        },
        Kind::PacketSize => Shape {
            mtu: Mtu::Swallowed(300 + odds(900).0),
            ..Shape::default()
        },
        _ => Shape::default(),
    }
}

#[test]
fn the_same_seed_gives_the_same_faults_and_only_of_its_means() {
    for seed in 0..20 {
        let means = Means::of(seed);
        let list = |seed| seeded(&mut Choices::seeded(seed), 200, means);
        assert_eq!(format!("{:?}", list(seed)), format!("{:?}", list(seed)));
        let has = |wanted| list(seed).iter().any(|blow| blow.kind == wanted);
        assert_eq!(has(Kind::AgentKill), means.kills);
        assert_eq!(has(Kind::Loss), means.packets);
    }
}
