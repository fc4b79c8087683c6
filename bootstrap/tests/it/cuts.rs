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
    let packed = ready.probe.tools.has("zstd") || ready.probe.tools.has("gzip");
    assert_eq!(packed, length - script != 4096);
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
    without(&["zstd", "gzip"]).await
}

/// A host without some of its tools, and the namespace that hides them.
pub(crate) async fn without(tools: &[&str]) -> (Host, Mounts) {
    let hide: String = tools
        .iter()
        .map(|tool| format!("mount --bind /dev/null $(command -v {tool})\n"))
        .collect();
    let mounts = Mounts::new(&hide).await;
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
    let chosen = |at: usize, script: usize| match script.checked_sub(at) {
        Some(left) => at.is_multiple_of(11) || left < 20,
        None => at.is_multiple_of(5),
    };
    cut(Host::new(), chosen).await;
}

#[tokio::test]
async fn within_the_program_as_gzip() {
    let (host, _mounts) = without(&["zstd"]).await;
    cut(host, |at, script| at >= script && at.is_multiple_of(5)).await;
}

/// Cuts one upload of `program` as `fault` says, goes on with it, and gives the offset from which it went on.
async fn cut_and_go_on(program: &[u8], fault: Fault) -> u64 {
    let mut host = Host::new();
    // Writing through to the disk is not what is tested, and slow where others write too.
    host.fake("sync", "exit 0");
    host.fault = Some((1, fault));
    let wanted = wanted(&host, program);
    let target = path(&host, program);
    let error = go(&host, &wanted).await.unwrap_err();
    assert!(
        error.is_connection_lost() && error.exit_code() == 3,
        "{fault:?}: {error:?}"
    );
    assert!(!target.exists(), "{fault:?}");
    if matches!(fault, Fault::Cut(_)) {
        host.settle().await;
        assert!(!target.exists(), "{fault:?}");
    }
    let log = Log::default();
    ensure(&host, &wanted, &log)
        .await
        .unwrap_or_else(|error| panic!("{fault:?}: {error:?}"));
    assert_eq!(fs::read(&target).unwrap(), program, "{fault:?}");
    // An old writer wakes up and writes on.
    host.settle().await;
    assert_eq!(
        fs::read(&target).unwrap(),
        program,
        "{fault:?}: after the old writer"
    );
    assert_eq!(host.files(), [name(program)], "{fault:?}");
    let first = *log.offsets().first().unwrap();
    assert_eq!(first % 65_536, 0, "{fault:?}");
    first
}

/// A program, and the length of the stream that carries it.
async fn measured() -> (Vec<u8>, usize) {
    let program = program(1_500_000);
    let host = Host::new();
    go(&host, &wanted(&host, &program)).await.unwrap();
    let length = host.seen.lock().unwrap()[1].stdin.len();
    (program, length)
}

#[tokio::test]
async fn at_fifty_seeded_offsets() {
    let (program, length) = measured().await;
    let mut resumed = 0;
    for seed in 0..50 {
        let at = Random(seed).below(length);
        resumed += usize::from(cut_and_go_on(&program, Fault::Cut(at)).await > 0);
    }
    assert!(resumed > 40, "only {resumed} of 50 went on where the cut was");
}

#[tokio::test]
async fn with_the_old_writer_still_alive() {
    let (program, length) = measured().await;
    let stall = |seed: u64| cut_and_go_on(&program, Fault::Stall(Random(seed).below(length)));
    // Each waits for a lock that its old writer holds.
    let _offsets = tokio::join!(stall(100), stall(101), stall(102), stall(103), stall(104));
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
