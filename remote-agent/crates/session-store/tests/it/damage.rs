//! Logs that were cut or damaged (field reports RA-45 and RA-51).

use std::{fs, path::Path};

use proptest::prelude::*;
use session_store::{DAMAGED, Log, LogReader, Notice, Problem, Record, Stored, recover, replay};

use crate::samples::{AT, assert_valid, folder, scenario, started, write_all};

/// The scenario as written: its bytes and its records.
fn scenario_log() -> (Vec<u8>, Vec<Stored>) {
    let folder = folder();
    let mut log = Log::create(folder.path()).unwrap();
    let written = write_all(&mut log, &scenario());
    (fs::read(folder.path().join("log.jsonl")).unwrap(), written)
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

fn open_bytes(dir: &Path, bytes: &[u8]) -> (Log, Vec<Stored>, Vec<Notice>) {
    fs::write(dir.join("log.jsonl"), bytes).unwrap();
    Log::open(dir).unwrap()
}

fn is_lost(stored: &Stored) -> bool {
    matches!(&stored.record, Record::Unknown { kind, .. } if kind == DAMAGED)
}

#[test]
fn cut_at_every_byte_nothing_before_is_lost_nothing_is_doubled_and_writing_goes_on() {
    let (bytes, written) = scenario_log();
    let folder = folder();
    let mut whole = 0;
    for cut in 0..=bytes.len() {
        // A record counts once all of it but its line feed is there.
        let ends_record = bytes.get(cut) == Some(&b'\n');
        let (mut log, read, notices) = open_bytes(folder.path(), &bytes[..cut]);
        whole += usize::from(ends_record);
        assert_eq!(read, written[..whole], "cut at {cut}");
        let at_border = cut == 0 || ends_record || bytes[cut - 1] == b'\n';
        let torn: Vec<_> = notices.iter().map(|n| &n.problem).collect();
        if at_border {
            assert!(torn.is_empty(), "cut at {cut}: {torn:?}");
        } else {
            let [
                Problem::Torn {
                    bytes: kept,
                    kept: Some(path),
                },
            ] = torn[..]
            else {
                panic!("cut at {cut}: {torn:?}")
            };
            let line = bytes[..cut].rsplit(|byte| *byte == b'\n').next().unwrap();
            assert_eq!(
                (*kept, fs::read(path).unwrap()),
                (line.len() as u64, line.to_vec()),
                "cut at {cut}"
            );
            fs::remove_file(path).unwrap();
        }
        let next = log.append(&started(77), AT).unwrap();
        assert_eq!(next.n, whole as u64 + 1, "cut at {cut}");
        // The file is what was sound and the new line, so opening it again is opening a sound log, which is tried once
        // for each record.
        let sound: Vec<u8> = lines(&bytes)[..whole].concat();
        let now = fs::read(folder.path().join("log.jsonl")).unwrap();
        assert!(
            now.starts_with(&sound) && lines(&now).len() == whole + 1,
            "cut at {cut}"
        );
        if ends_record {
            let live = log.reader().read(0, 100).unwrap();
            let (_, again, notices) = Log::open(folder.path()).unwrap();
            let wanted = [&written[..whole], &[next]].concat();
            assert_eq!(
                (&again, &live, notices),
                (&wanted, &wanted, vec![]),
                "cut at {cut}"
            );
        }
    }
}

#[test]
fn torn_lines_of_several_crashes_are_all_kept() {
    let (bytes, _) = scenario_log();
    let folder = folder();
    for round in 0..3 {
        let (_, _, notices) = open_bytes(folder.path(), &bytes[..30 + round]);
        let Problem::Torn { kept: Some(path), .. } = &notices[0].problem else {
            panic!("{notices:?}")
        };
        assert_eq!(fs::read(path).unwrap(), &bytes[..30 + round]);
    }
    let kept = fs::read_dir(folder.path()).unwrap().filter(|entry| {
        entry
            .as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .starts_with("log.torn-")
    });
    assert_eq!(kept.count(), 3);
}

#[test]
fn a_reader_without_the_lease_changes_nothing() {
    let (bytes, written) = scenario_log();
    let folder = folder();
    let path = folder.path().join("log.jsonl");
    let torn = &bytes[..bytes.len() - 9];
    fs::write(&path, torn).unwrap();
    let (reader, notices) = LogReader::open(folder.path()).unwrap();
    assert!(
        matches!(notices[0].problem, Problem::Torn { kept: None, .. }),
        "{notices:?}"
    );
    assert_eq!(reader.read(0, 100).unwrap(), written[..39]);
    assert_eq!(fs::read(&path).unwrap(), torn);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Damages line 20 by `change`, and checks that all else is there, that the file stays as it is, and that numbers go
/// on; gives the problems found.
fn damage_line_20(change: impl Fn(&[u8]) -> Vec<u8>) -> (Vec<Stored>, Vec<Problem>) {
    let (bytes, written) = scenario_log();
    let mut parts: Vec<Vec<u8>> = lines(&bytes).into_iter().map(<[u8]>::to_vec).collect();
    parts[19] = change(&parts[19]);
    let damaged = parts.concat();
    let folder = folder();
    let (mut log, read, notices) = open_bytes(folder.path(), &damaged);
    assert_eq!(
        fs::read(folder.path().join("log.jsonl")).unwrap(),
        damaged,
        "the original is kept"
    );
    assert_eq!(
        read.iter().map(|stored| stored.n).collect::<Vec<_>>(),
        (1..=40).collect::<Vec<_>>()
    );
    assert_eq!((&read[..19], &read[20..]), (&written[..19], &written[20..]));
    assert_eq!(log.append(&started(7), AT).unwrap().n, 41);
    assert!(
        notices.iter().all(|notice| (20..=22).contains(&notice.line)),
        "{notices:?}"
    );
    let mut state = replay(&read);
    for (record, n) in recover(&state).into_iter().zip(41..) {
        state.apply(&Stored { n, at: AT, record });
    }
    assert_valid(&state.transcript);
    (read, notices.into_iter().map(|notice| notice.problem).collect())
}

#[test]
fn a_damaged_line_in_the_middle_costs_that_record_and_no_other() {
    let lost = |change: &dyn Fn(&[u8]) -> Vec<u8>, why: &str| {
        let (read, problems) = damage_line_20(change);
        assert!(is_lost(&read[19]), "{why}");
        assert!(
            problems.contains(&Problem::Missing { first: 20, last: 20 }),
            "{why}: {problems:?}"
        );
        assert_eq!(read[19].at, read[18].at, "{why}");
    };
    lost(
        &|line| line[..line.len() / 2].iter().copied().chain(*b"\n").collect(),
        "cut in half",
    );
    lost(
        &|line| line[..line.len() / 2].to_vec(),
        "cut in half with its line feed",
    );
    lost(&|_| b"\n".to_vec(), "an empty line");
    lost(&|_| Vec::new(), "no line");
    lost(&|line| vec![0; line.len()], "a NUL block");
    lost(
        &|line| [vec![0; line.len() - 1], b"\n".to_vec()].concat(),
        "a NUL block and a line feed",
    );
    lost(
        &|line| [&line[..60], b"\n", &line[60..]].concat(),
        "a raw line feed",
    );
    lost(
        &|line| [&line[..60], b"\xff\xfe", &line[60..]].concat(),
        "invalid utf-8",
    );
    lost(
        &|line| [b"x".repeat(5 << 20), line[9..].to_vec()].concat(),
        "a huge line",
    );
}

#[test]
fn a_sound_record_survives_what_stands_beside_it() {
    let found = |change: &dyn Fn(&[u8]) -> Vec<u8>, why: &str| {
        let (read, problems) = damage_line_20(change);
        assert!(!is_lost(&read[19]), "{why}: {problems:?}");
        problems
    };
    assert_eq!(
        found(&|line| [b"\n", line].concat(), "an empty line before"),
        [Problem::Blank]
    );
    assert_eq!(
        found(&|line| [b"\0\0\0\n", line].concat(), "a NUL line before"),
        [Problem::Blank]
    );
    assert_eq!(
        found(&|line| [b"\0\0\0", line].concat(), "NUL bytes before"),
        [Problem::Strays { records: 1 }]
    );
    let problems = found(&|line| line[..line.len() - 1].to_vec(), "two objects on a line");
    assert_eq!(problems, [Problem::Strays { records: 2 }]);
    assert_eq!(
        found(&|line| [line, line].concat(), "written twice"),
        [Problem::Repeated { n: 20 }]
    );
    assert_eq!(
        found(
            &|line| [&line[..line.len() - 1], b"\r\n"].concat(),
            "a carriage return"
        ),
        []
    );
}

#[test]
fn a_newer_line_is_unknown_and_newer_members_are_ignored() {
    // Lines of a newer program, with their checksums made as line.rs describes it.
    let line = |body: &str| {
        format!(
            "{body},\"crc\":\"{:08x}\"}}\n",
            crc32c::crc32c(format!("{body}}}").as_bytes())
        )
    };
    let data = r#""kind":"turn.started","data":{"turn":1,"mood":"new"}"#;
    let at = r#""at":"2026-01-02T03:04:05.678Z""#;
    let text = line(&format!(r#"{{"v":1,"n":1,{at},{data},"zone":{{"v":1}}"#))
        + &line(&format!(r#"{{"v":2,"n":2,{at},{data}"#))
        + &line(&format!(r#"{{"v":1,"n":3,"at":"yesterday",{data}"#));
    let folder = folder();
    let (mut log, read, notices) = open_bytes(folder.path(), text.as_bytes());
    assert_eq!((read[0].at, &read[0].record), (AT, &started(1)));
    assert!(matches!(&read[1].record, Record::Unknown { kind, .. } if kind == "turn.started"));
    assert_eq!((read[2].at, &read[2].record), (0, &started(1)));
    assert_eq!(
        notices,
        [Notice {
            line: 2,
            problem: Problem::Newer { n: 2, version: 2 }
        }]
    );
    assert_eq!(log.append(&started(2), AT).unwrap().n, 4);
}

#[test]
fn a_damaged_last_line_keeps_its_number() {
    let (bytes, written) = scenario_log();
    let mut damaged = bytes.clone();
    let place = damaged.len() - 30;
    damaged[place] ^= 1;
    let folder = folder();
    let (mut log, read, _) = open_bytes(folder.path(), &damaged);
    assert_eq!(read[..39], written[..39]);
    assert!(read.len() == 40 && is_lost(&read[39]));
    let next = log.append(&started(7), AT).unwrap();
    assert_eq!(next.n, 41);
    let (_, again, _) = Log::open(folder.path()).unwrap();
    assert_eq!(again, [read, vec![next]].concat());
    assert_eq!(log.reader().read(38, 10).unwrap(), again[38..]);
}

#[derive(Debug, Clone)]
enum Damage {
    Flip(usize, u8),
    Zero(usize, usize),
    Remove(usize, usize),
    Insert(usize, Vec<u8>),
    Repeat(usize, usize),
}

impl Damage {
    fn any() -> impl Strategy<Value = Self> {
        let place = 0..10_000_usize;
        let length = prop_oneof![1..20_usize, 1..2000_usize];
        let bytes = prop_oneof![
            proptest::collection::vec(any::<u8>(), 1..200),
            proptest::collection::vec(prop_oneof![Just(b'\n'), Just(0), Just(b'{'), Just(b'"')], 1..40),
        ];
        prop_oneof![
            (place.clone(), 1..=255_u8).prop_map(|(at, bits)| Self::Flip(at, bits)),
            (place.clone(), length.clone()).prop_map(|(at, length)| Self::Zero(at, length)),
            (place.clone(), length.clone()).prop_map(|(at, length)| Self::Remove(at, length)),
            (place.clone(), bytes).prop_map(|(at, bytes)| Self::Insert(at, bytes)),
            (place, length).prop_map(|(at, length)| Self::Repeat(at, length)),
        ]
    }

    /// Damages `bytes`, and gives the range of the original that is touched.
    fn apply(&self, bytes: &mut Vec<u8>) -> std::ops::Range<usize> {
        let all = bytes.len();
        let range = |at: usize, length: usize| (at % all)..(at % all + length).min(all);
        match self {
            Self::Flip(at, bits) => {
                bytes[at % all] ^= bits;
                range(*at, 1)
            }
            Self::Zero(at, length) => {
                bytes[range(*at, *length)].fill(0);
                range(*at, *length)
            }
            Self::Remove(at, length) => {
                bytes.drain(range(*at, *length));
                range(*at, *length)
            }
            Self::Insert(at, new) => {
                bytes.splice(at % all..at % all, new.iter().copied());
                range(*at, 0)
            }
            Self::Repeat(at, length) => {
                let copy = bytes[range(*at, *length)].to_vec();
                let end = range(*at, *length).end;
                bytes.splice(end..end, copy);
                end..end
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_damage_never_costs_an_untouched_record_and_never_makes_a_false_one(damage in Damage::any()) {
        let (mut bytes, written) = scenario_log();
        let original = bytes.clone();
        let touched = damage.apply(&mut bytes);
        let folder = folder();
        let (mut log, read, _) = open_bytes(folder.path(), &bytes);
        let mut start = 0;
        for (line, stored) in lines(&original).iter().zip(&written) {
            let end = start + line.len() - 1;
            // A record is untouched when all its bytes but the line feed are in place and nothing came between.
            let inside = touched.is_empty() && start < touched.start && touched.start < end;
            if !inside && (touched.end <= start || end <= touched.start) {
                prop_assert_eq!(read.get(usize::try_from(stored.n).unwrap() - 1), Some(stored));
            }
            start = end + 1;
        }
        for (stored, n) in read.iter().zip(1..) {
            prop_assert_eq!(stored.n, n);
            let truth = written.get(usize::try_from(n).unwrap() - 1);
            prop_assert!(is_lost(stored) || Some(stored) == truth, "record {} is false: {:?}", n, stored);
        }
        let next = log.append(&started(7), AT).unwrap();
        prop_assert_eq!(next.n, read.len() as u64 + 1);
        let wanted = [read, vec![next]].concat();
        let (_, again, _) = Log::open(folder.path()).unwrap();
        prop_assert_eq!(&again, &wanted);
        let (cold, _) = LogReader::open(folder.path()).unwrap();
        for after in [0, wanted.len() / 2, wanted.len() - 1] {
            prop_assert_eq!(&cold.read(after as u64, 100).unwrap(), &wanted[after..]);
            prop_assert_eq!(&log.reader().read(after as u64, 100).unwrap(), &wanted[after..]);
        }
        let mut state = replay(&wanted);
        for (record, n) in recover(&state).into_iter().zip(state.last + 1..) {
            state.apply(&Stored { n, at: AT, record });
        }
        assert_valid(&state.transcript);
    }
}
