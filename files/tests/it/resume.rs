//! A big file goes on where an interrupted transfer left it.

use files::{Cancel, Expected, Get, Mode, Outcome, Progress, Put, Transfer};

use crate::rig::{Blow, Random, World, tree};

const SIZE: usize = 40 << 20;
const CUT: i64 = 30 << 20;

async fn copy(world: &World, up: bool, cut: Option<i64>) -> Result<Outcome, files::Error> {
    let host = world.host().await;
    if let Some(bytes) = cut {
        world.arm(bytes, Blow::Cut);
    }
    let (progress, cancel, transfer) = (Progress::default(), Cancel::new(), Transfer::default());
    let result = if up {
        let put = Put {
            from: world.here("big"),
            to: b"big".to_vec(),
            transfer,
            mode: Mode::Source,
            expected: Expected::Anything,
        };
        host.put(&put, &progress, &cancel).await
    } else {
        let get = Get {
            from: b"big".to_vec(),
            to: world.here("big"),
            transfer,
            hash: false,
        };
        host.get(&get, &progress, &cancel).await
    };
    host.close().await;
    drop(host);
    world.settle().await;
    result
}

async fn check(up: bool) {
    let world = World::new();
    let content = Random::new(7).content(SIZE);
    let (source, target) = match up {
        true => (world.here("big"), world.there("big")),
        false => (world.there("big"), world.here("big")),
    };
    let side = target.parent().unwrap().to_path_buf();
    std::fs::write(&source, &content).unwrap();
    std::fs::write(&target, "old").unwrap();
    // Cut, and gone on with.
    assert!(copy(&world, up, Some(CUT)).await.unwrap_err().is_lost());
    assert_eq!(std::fs::read(&target).unwrap(), b"old");
    assert_eq!(tree(&side).1.len(), 1);
    let outcome = copy(&world, up, None).await.unwrap();
    assert!(outcome.resumed >= 8 << 20, "{}", outcome.resumed);
    assert_eq!(outcome.bytes + outcome.resumed, SIZE as u64);
    assert!(std::fs::read(&target).unwrap() == content);
    assert!(tree(&side).1.is_empty());
    // Cut, and what is there does not agree with the source: begun again.
    assert!(copy(&world, up, Some(CUT)).await.unwrap_err().is_lost());
    let part = tree(&side).1.pop().unwrap();
    let length = std::fs::metadata(&part).unwrap().len();
    std::fs::write(&part, vec![0; usize::try_from(length).unwrap()]).unwrap();
    let outcome = copy(&world, up, None).await.unwrap();
    assert_eq!(outcome.resumed, 0);
    assert!(std::fs::read(&target).unwrap() == content);
    // Cut, and the source is another by then: begun again, and what was left is removed when it is old enough.
    assert!(copy(&world, up, Some(CUT)).await.unwrap_err().is_lost());
    let other = Random::new(8).content(SIZE);
    std::fs::write(&source, &other).unwrap();
    let later = stdx::clock::unix_millis() / 1000 - 100;
    let file = std::fs::File::options().write(true).open(&source).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(later))
        .unwrap();
    let outcome = copy(&world, up, None).await.unwrap();
    assert_eq!(outcome.resumed, 0);
    assert!(std::fs::read(&target).unwrap() == other);
    assert_eq!(tree(&side).1.len(), 1, "somebody may still be writing to it");
    let removed = if up {
        let host = world.host().await;
        let removed = host.sweep(b".", std::time::Duration::ZERO).await.unwrap();
        host.close().await;
        removed
    } else {
        files::sweep_local(&side, std::time::Duration::ZERO).unwrap()
    };
    assert_eq!((removed, tree(&side).1.len()), (1, 0));
}

#[tokio::test]
async fn a_big_file_to_a_host_goes_on_where_it_was() {
    check(true).await;
}

#[tokio::test]
async fn a_big_file_from_a_host_goes_on_where_it_was() {
    check(false).await;
}
