//! Small configurations made up by a seeded generator, compared with `ssh -G`.

use std::fmt::Write as _;

use super::both::{Account, Answer};

const SEEDS: u64 = 150;

/// A generator of numbers (xorshift64*): the same for the same seed, anywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        usize::try_from(high).unwrap() % sides
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.roll(words.len())]
    }
}

const HOSTS: [&str; 6] = ["a", "b", "web", "A", "a.example", "127.1"];
const PATTERNS: [&str; 9] = ["a", "b", "*", "?", "w*", "!b", "*.example", "127.0.0.1", "web"];
const LISTS: [&str; 6] = ["a", "a,b", "*,!b", "w*", "127.0.0.1", "!a,*"];
const USERS: [&str; 3] = ["u", "v", "u,v"];

/// Lines that set something, and a few that are wrong.
const SETTINGS: [&str; 40] = [
    "Port 7",
    "port=8",
    "Port = 9 # nine",
    "User u",
    "User \"v\"",
    "HostName b",
    "HostName %h.example",
    "HostName 127.0.0.1",
    "IdentityFile ~/x-%h",
    "IdentityFile \"/with blank\"",
    "IdentityFile /%n/%r/%p",
    "IdentityFile none",
    "IdentitiesOnly yes",
    "IdentityAgent none",
    "IdentityAgent ${MY_AGENT}",
    "CertificateFile /c-%u",
    "UserKnownHostsFile /k1 ~/k2",
    "GlobalKnownHostsFile none",
    "HostKeyAlias Other",
    "StrictHostKeyChecking accept-new",
    "StrictHostKeyChecking no",
    "UpdateHostKeys no",
    "ConnectTimeout 1m",
    "ConnectTimeout none",
    "AddressFamily inet",
    "PasswordAuthentication no",
    "PreferredAuthentications publickey",
    "NumberOfPasswordPrompts 2",
    "BatchMode yes",
    "SetEnv A=1 B=2",
    "SendEnv MY_*",
    "SendEnv -MY_S*",
    "ProxyJump hop",
    "ProxyJump none",
    "ProxyJump u@one:2,two",
    "ProxyCommand nc %h %p",
    "ProxyCommand none",
    "CanonicalizeHostname yes",
    "Compression yes",
    "IgnoreUnknown Odd*",
];
const ODD: [&str; 8] = [
    "OddOne yes",
    "Port",
    "User \"x",
    "Port x",
    "\"User",
    "Match host",
    "User a b",
    "ProxyJump a,,b",
];

fn conditions(dice: &mut Dice) -> String {
    let mut text = String::new();
    for _ in 0..=dice.roll(2) {
        let not = dice.pick(&["", "", "!"]);
        let one = match dice.roll(7) {
            0 | 1 => format!("{not}host {}", dice.pick(&LISTS)),
            2 => format!("{not}originalhost={}", dice.pick(&LISTS)),
            3 => format!("{not}user {}", dice.pick(&USERS)),
            4 => format!("{not}exec \"test %h = {}\"", dice.pick(&HOSTS)),
            5 => format!("{not}final"),
            _ => "all".to_owned(),
        };
        write!(text, " {one}").unwrap();
    }
    text
}

fn configuration(dice: &mut Dice, may_include: bool) -> String {
    let mut text = String::new();
    for _ in 0..2 + dice.roll(10) {
        match dice.roll(if may_include { 12 } else { 10 }) {
            0 | 1 => {
                let patterns = format!("{} {}", dice.pick(&PATTERNS), dice.pick(&PATTERNS));
                writeln!(text, "Host {patterns}").unwrap();
            }
            2 | 3 => writeln!(text, "Match{}", conditions(dice)).unwrap(),
            10 | 11 => writeln!(text, "Include @DIR@/inner{}", dice.pick(&["1", "2", "*"])).unwrap(),
            _ if dice.roll(60) == 0 => writeln!(text, "{}", dice.pick(&ODD)).unwrap(),
            _ => writeln!(text, "  {}", dice.pick(&SETTINGS)).unwrap(),
        }
    }
    text
}

#[tokio::test]
async fn random_configurations_give_the_same_answers() {
    let account = Account::new();
    let mut taken = 0;
    for seed in 1..=SEEDS {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let inner = [configuration(&mut dice, false), configuration(&mut dice, false)];
        account.write("inner1", &inner[0]);
        account.write("inner2", &inner[1]);
        let config = configuration(&mut dice, true);
        account.write("config", &config);
        let user = dice.pick(&["", "", "u@", "v@"]);
        let target = format!("{user}{}", dice.pick(&HOSTS));
        let Answer { theirs, ours } = account.ask(&target).await;
        let place = format!(
            "seed {seed}, {target}\n{config}--- inner1\n{}--- inner2\n{}",
            inner[0], inner[1]
        );
        match (theirs, ours) {
            (Ok(theirs), Ok(ours)) => assert_eq!(ours, theirs, "{place}"),
            (Err(_), Err(_)) => continue,
            other => panic!("{other:?}\n{place}"),
        }
        taken += 1;
    }
    assert!(
        taken > SEEDS / 2,
        "only {taken} of {SEEDS} configurations were taken by both"
    );
}
