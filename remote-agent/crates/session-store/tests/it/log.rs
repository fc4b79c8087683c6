//! Writing, reading and reopening sound logs.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use session_store::{DAMAGED, LINE_MAX, Log, LogReader, Problem, Record, StoreError};

use crate::samples::{AT, call_finished, folder, opened, partial, scenario, started, submitted, write_all};

fn log_bytes(dir: &Path) -> Vec<u8> {
    fs::read(dir.join("log.jsonl")).unwrap()
}

#[test]
fn what_was_written_is_read_back_and_goes_on() {
    let folder = folder();
    let mut log = Log::create(folder.path()).unwrap();
    let written = write_all(&mut log, &scenario());
    log.sync().unwrap();
    drop(log);
    let (mut log, read, notices) = Log::open(folder.path()).unwrap();
    assert_eq!((read, notices), (written, vec![]));
    assert_eq!(log.append(&started(9), AT).unwrap().n, 41);
}

#[test]
fn a_log_with_records_is_not_created_again_and_a_missing_one_is_not_opened() {
    let folder = folder();
    assert!(matches!(Log::open(folder.path()), Err(StoreError::Missing(_))));
    assert!(matches!(
        LogReader::open(folder.path()),
        Err(StoreError::Missing(_))
    ));
    drop(Log::create(folder.path()).unwrap());
    // A crash before the first record leaves an empty log, and the session is opened again.
    let mut log = Log::create(folder.path()).unwrap();
    log.append(&opened(), AT).unwrap();
    assert!(matches!(Log::create(folder.path()), Err(StoreError::Exists(_))));
}

#[test]
fn files_and_folders_are_private() {
    let folder = folder();
    let dir = folder.path().join("a/b");
    let mut log = Log::create(&dir).unwrap();
    log.append(&submitted(1, &"x".repeat(LINE_MAX)), AT).unwrap();
    let mut seen = 0;
    let mut open = vec![folder.path().join("a")];
    while let Some(path) = open.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(
            metadata.permissions().mode() & 0o777,
            wanted,
            "{}",
            path.display()
        );
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        seen += 1;
    }
    assert_eq!(seen, 5, "a, b, the log, blobs and one blob");
}

#[test]
fn lines_end_at_the_limit_and_larger_content_goes_to_a_blob_once() {
    let folder = folder();
    let mut log = Log::create(folder.path()).unwrap();
    log.append(&call_finished(1, 1, 0, ""), AT).unwrap();
    let room = LINE_MAX - log_bytes(folder.path()).len();
    let records = [room, room + 1, room + 1].map(|length| call_finished(1, 1, 0, &"y".repeat(length)));
    let before = log_bytes(folder.path()).len();
    let written = write_all(&mut log, &records);
    let bytes = log_bytes(folder.path());
    let lengths: Vec<usize> = bytes[before..]
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .collect();
    assert_eq!(lengths[0], LINE_MAX);
    assert!(lengths[1] < 300 && lengths[1] == lengths[2], "{lengths:?}");
    assert_eq!(fs::read_dir(folder.path().join("blobs")).unwrap().count(), 1);
    let (_, read, notices) = Log::open(folder.path()).unwrap();
    assert_eq!((&read[1..], notices), (&written[..], vec![]));
}

#[test]
fn a_lost_or_changed_blob_costs_its_record_only_and_is_mended_by_the_same_content() {
    let folder = folder();
    let large = call_finished(1, 1, 0, &"z".repeat(LINE_MAX));
    let mut log = Log::create(folder.path()).unwrap();
    write_all(&mut log, &[opened(), large.clone(), started(1)]);
    let blob = fs::read_dir(folder.path().join("blobs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let content = fs::read(&blob).unwrap();
    for damaged in [
        &content[1..],
        &[content.as_slice(), b"x"].concat(),
        &content.to_ascii_uppercase(),
    ] {
        fs::write(&blob, damaged).unwrap();
        let (_, read, notices) = Log::open(folder.path()).unwrap();
        assert!(matches!(&read[1].record, Record::Unknown { kind, .. } if kind == "call.finished"));
        assert_eq!(read[2].record, started(1));
        assert!(
            matches!(&notices[..], [notice] if matches!(notice.problem, Problem::Blob { n: 2, .. })),
            "{notices:?}"
        );
    }
    let (mut log, ..) = Log::open(folder.path()).unwrap();
    log.append(&large, AT).unwrap();
    let (_, read, notices) = Log::open(folder.path()).unwrap();
    assert_eq!(
        (&read[1].record, &read[3].record, notices),
        (&large, &large, vec![])
    );
}

#[test]
fn unknown_records_are_kept_and_data_that_looks_like_a_reference_is_not_followed() {
    let folder = folder();
    let unknown = |kind: &str, data| Record::Unknown {
        kind: kind.to_owned(),
        data,
    };
    let records = [
        unknown("future.thing", serde_json::json!({"b": 1, "a": [2.5, null]})),
        unknown(
            "turn.future",
            serde_json::json!({"blob": "ab".repeat(32), "bytes": 3}),
        ),
        unknown("no topic \" \n", serde_json::json!("text")),
        unknown(DAMAGED, serde_json::json!({})),
    ];
    let mut log = Log::create(folder.path()).unwrap();
    let written = write_all(&mut log, &records);
    let (_, read, notices) = Log::open(folder.path()).unwrap();
    assert_eq!(read, written);
    let told: Vec<bool> = notices
        .iter()
        .map(|n| matches!(n.problem, Problem::Unreadable { .. }))
        .collect();
    assert_eq!(told, [true; 3], "{notices:?}");
}

#[test]
fn a_reader_sees_each_record_at_once_from_any_number_on() {
    let folder = folder();
    let mut log = Log::create(folder.path()).unwrap();
    let reader = log.reader();
    let records: Vec<Record> = (0..300).map(|n| partial(1, 1, n, "x")).collect();
    let mut written = Vec::new();
    for record in &records {
        written.push(log.append(record, AT).unwrap());
        assert_eq!(reader.last(), written.len() as u64);
        assert_eq!(
            reader.read(reader.last() - 1, 10).unwrap(),
            written[written.len() - 1..]
        );
    }
    let (cold, notices) = LogReader::open(folder.path()).unwrap();
    assert_eq!(notices, []);
    for after in (0..=301).step_by(7) {
        for limit in [0, 1, 70, 1000] {
            let wanted: Vec<_> = written.iter().skip(after).take(limit).cloned().collect();
            assert_eq!(
                reader.read(after as u64, limit).unwrap(),
                wanted,
                "after {after}, limit {limit}"
            );
            assert_eq!(
                cold.read(after as u64, limit).unwrap(),
                wanted,
                "after {after}, limit {limit}"
            );
        }
    }
    assert_eq!(reader.read(u64::MAX, 1).unwrap(), []);
}

#[test]
fn a_page_of_large_contents_ends_early_and_still_reaches_the_end() {
    let folder = folder();
    let mut log = Log::create(folder.path()).unwrap();
    let large = |n: u64| call_finished(1, n, 0, &n.to_string().repeat(2_100_000));
    let written = write_all(&mut log, &(1..=5).map(large).collect::<Vec<_>>());
    let reader = log.reader();
    let first = reader.read(0, 100).unwrap();
    assert!(first.len() < 5, "a page of {} large records", first.len());
    let rest = reader.read(first.len() as u64, 100).unwrap();
    assert_eq!([first, rest].concat(), written);
}

#[test]
fn readers_on_other_threads_never_see_half_a_record() {
    let folder = folder();
    let mut log = Log::create(folder.path()).unwrap();
    let reader = log.reader();
    let follow = || {
        let mut seen = 0;
        while seen < 2000 {
            for stored in reader.read(seen, 50).unwrap() {
                assert_eq!(
                    (stored.n, &stored.record),
                    (seen + 1, &partial(1, 1, seen, "汉字"))
                );
                seen += 1;
            }
        }
    };
    std::thread::scope(|scope| {
        let followers: Vec<_> = (0..2).map(|_| scope.spawn(follow)).collect();
        for n in 0..2000 {
            log.append(&partial(1, 1, n, "汉字"), AT).unwrap();
        }
        for follower in followers {
            follower.join().unwrap();
        }
    });
}
