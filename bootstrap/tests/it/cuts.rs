//! Uploads that are cut: never a wrong file under the final name, and the next one goes on.

use std::fs;

use bootstrap::ensure;

use crate::{
    host::{Fault, Host, Mounts},
    stand_in::{Log, Random, go, name, path, program, wanted},
};

/// Cuts the upload of a 4 KiB program at every offset of its stream that `chosen` takes: first the script, then so many
/// bytes of payload.
async fn cut(host: Host, chosen: impl Fn(usize, usize) -> bool) {
    let program = program(4096);
    let wanted = wanted(&host, &program);
    let ready = go(&host, &wanted).await.unwrap();
    let upload = host.seen.lock().unwrap()[1].clone();
    let length = upload.stdin.len();
    let script = upload
        .stdin
        .windows(6)
        .position(|window| window == b"\nmain\n")
        .unwrap()
        + 6;
    assert_eq!(ready.probe.tools.has("gzip"), length - script != 4096);
    let target = path(&host, &program);
    fs::remove_file(&target).unwrap();
    let mut complete = 0;
    for cut in (0..=length).filter(|cut| chosen(*cut, script)) {
        host.raw(&upload.command, &upload.stdin[..cut]).await;
        match fs::read(&target) {
            Ok(content) => {
                assert_eq!(content, program, "cut at {cut}");
                complete += 1;
                fs::remove_file(&target).unwrap();
            }
            Err(_) => assert!(cut < length, "the whole stream must do"),
        }
        for file in host.files() {
            assert!(file.starts_with(".part-"), "cut at {cut} leaves {file}");
            fs::remove_file(host.programs().join(file)).unwrap();
        }
    }
    // Nothing but the checksum at the end of a gzip member may be dispensable.
    assert!(complete <= 9, "{complete}");
}

/// A host that cannot decompress, so that the payload is the program byte by byte.
async fn plain() -> (Host, Mounts) {
    let mounts = Mounts::new("mount --bind /dev/null $(command -v gzip)").await;
    let mut host = Host::new();
    host.prefix = mounts.enter.clone();
    (host, mounts)
}

#[tokio::test]
async fn at_every_even_byte_of_the_program() {
    let (host, _mounts) = plain().await;
    cut(host, |at, script| at >= script && at.is_multiple_of(2)).await;
}

#[tokio::test]
async fn at_every_odd_byte_of_the_program() {
    let (host, _mounts) = plain().await;
    cut(host, |at, script| at >= script && !at.is_multiple_of(2)).await;
}

#[tokio::test]
async fn within_the_script_and_the_compressed_program() {
    // Every line end of the script is near one of these, and no cut script may run at all.
    cut(Host::new(), |at, script| at % 11 == 0 || at.abs_diff(script) < 20).await;
    cut(Host::new(), |at, _| at > 7000 && at % 3 == 0).await;
}

#[tokio::test]
async fn at_seeded_offsets_with_the_old_writer_alive_or_not() {
    let program = program(1_500_000);
    let host = Host::new();
    let wanted = wanted(&host, &program);
    go(&host, &wanted).await.unwrap();
    let length = host.seen.lock().unwrap()[1].stdin.len();
    let mut resumed = 0;
    for seed in 0..50 {
        let mut random = Random(seed);
        let at = random.below(length);
        let fault = if seed % 2 == 0 {
            Fault::Stall(at)
        } else {
            Fault::Cut(at)
        };
        let mut host = Host::new();
        // Writing through to the disk is not what is tested, and slow where others write too.
        host.fake("sync", "exit 0");
        host.fault = Some((1, fault));
        let error = go(&host, &wanted).await.unwrap_err();
        assert!(
            error.is_connection_lost() && error.exit_code() == 3,
            "seed {seed}: {error:?}"
        );
        assert!(!path(&host, &program).exists(), "seed {seed} {fault:?}");
        if matches!(fault, Fault::Cut(_)) {
            host.settle().await;
            assert!(!path(&host, &program).exists(), "seed {seed} {fault:?}");
        }
        let log = Log::default();
        let ready = ensure(&host, &wanted, &log)
            .await
            .unwrap_or_else(|error| panic!("seed {seed} {fault:?}: {error:?}"));
        assert_eq!(ready.program, path(&host, &program).to_str().unwrap());
        assert_eq!(
            fs::read(path(&host, &program)).unwrap(),
            program,
            "seed {seed} {fault:?}"
        );
        let first = *log.offsets().first().unwrap();
        assert_eq!(first % 65_536, 0, "seed {seed}");
        resumed += usize::from(first > 0);
        // The old writer wakes up and writes on.
        host.settle().await;
        assert_eq!(
            fs::read(path(&host, &program)).unwrap(),
            program,
            "seed {seed} {fault:?}: after the old writer"
        );
        assert_eq!(host.files(), [name(&program)], "seed {seed} {fault:?}");
    }
    assert!(resumed > 30, "only {resumed} of 50 went on where the cut was");
}

#[tokio::test]
async fn a_rotten_part_is_sent_again() {
    let program = program(300_000);
    let mut host = Host::new();
    let wanted = wanted(&host, &program);
    host.fault = Some((1, Fault::Cut(250_000)));
    go(&host, &wanted).await.unwrap_err();
    host.settle().await;
    let part = host.programs().join(&host.files()[0]);
    let mut content = fs::read(&part).unwrap();
    assert!(content.len() > 65_536);
    content[10] ^= 1;
    fs::write(&part, content).unwrap();
    let log = Log::default();
    ensure(&host, &wanted, &log).await.unwrap();
    assert!(log.offsets()[0] > 0 && log.offsets().contains(&0));
    assert_eq!(fs::read(path(&host, &program)).unwrap(), program);
    assert_eq!(host.files(), [name(&program)]);
}
