//! Listing, reading, copying and what is kept.

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};

use files::{Cancel, Cause, Expected, Get, Host, Kind, Mode, Outcome, Progress, Put, Side, Transfer};

use crate::rig::{Random, World, tree};

fn put(world: &World, from: &str, to: &[u8]) -> Put {
    Put {
        from: world.here(from),
        to: to.to_vec(),
        transfer: Transfer {
            recursive: true,
            ..Transfer::default()
        },
        mode: Mode::Source,
        expected: Expected::Anything,
    }
}

fn get(world: &World, from: &[u8], to: &str) -> Get {
    Get {
        from: from.to_vec(),
        to: world.here(to),
        transfer: Transfer {
            recursive: true,
            ..Transfer::default()
        },
        hash: true,
    }
}

async fn do_put(host: &Host, put: &Put) -> Result<Outcome, files::Error> {
    host.put(put, &Progress::default(), &Cancel::new()).await
}

async fn do_get(host: &Host, get: &Get) -> Result<Outcome, files::Error> {
    host.get(get, &Progress::default(), &Cancel::new()).await
}

#[tokio::test]
async fn folders_are_listed_with_names_as_they_are() {
    let world = World::new();
    let host = world.host().await;
    let names: [&[u8]; 4] = [b"a b", b"n\nl", b"x\xff", b"\xe2\x82\xac"];
    for name in names {
        std::fs::write(world.there(name), name).unwrap();
    }
    symlink("a b", world.there("link")).unwrap();
    symlink("nowhere", world.there("broken")).unwrap();
    std::fs::create_dir(world.there("sub")).unwrap();
    for path in [&b"~"[..], b"~/", b".", b""] {
        let listed = host.list(path).await.unwrap();
        let mut expected: Vec<Vec<u8>> = names.iter().map(|name| name.to_vec()).collect();
        expected.extend([b"link".to_vec(), b"broken".to_vec(), b"sub".to_vec()]);
        expected.sort();
        let found: Vec<_> = listed.iter().map(|entry| entry.name.clone()).collect();
        assert_eq!(found, expected);
        let link = listed.iter().find(|entry| entry.name == b"link").unwrap();
        assert_eq!(
            (link.kind(), link.target.as_deref()),
            (Kind::Link, Some(&b"a b"[..]))
        );
    }
    assert_eq!(host.stat(b"~/link", true).await.unwrap().kind(), Kind::File);
    assert_eq!(host.stat(b"link", false).await.unwrap().kind(), Kind::Link);
    let error = host.stat(b"none", true).await.unwrap_err();
    assert!(error.is_missing() && error.side() == Side::Host);
    assert!(
        error
            .to_string()
            .ends_with("none on the host: no such file or folder"),
        "{error}"
    );
    host.make_folders(b"p/q/r").await.unwrap();
    host.make_folders(b"p/q/r").await.unwrap();
    assert!(host.make_folders(b"a b/c").await.is_err());
    std::fs::write(world.there("p/q/r/f"), "f").unwrap();
    symlink("../../sub", world.there("p/q/l")).unwrap();
    assert!(host.remove(b"p", false).await.is_err());
    host.remove(b"p", true).await.unwrap();
    assert!(!world.there("p").exists() && world.there("sub").exists());
}

#[tokio::test]
async fn patterns_find_what_a_shell_finds() {
    let world = World::new();
    let host = world.host().await;
    for path in [
        "src/a.rs",
        "src/b.rs",
        "src/c.txt",
        "src/deep/d.rs",
        "src/.hidden.rs",
        "other/a.rs",
        "e [1]",
    ] {
        host.make_folders(path.rsplit_once('/').map_or("", |(folder, _)| folder).as_bytes())
            .await
            .unwrap();
        std::fs::write(world.there(path), "").unwrap();
    }
    for (pattern, expected) in [
        ("src/*.rs", "src/a.rs src/b.rs"),
        ("~/*/a.rs", "other/a.rs src/a.rs"),
        ("src/**/*.rs", "src/a.rs src/b.rs src/deep/d.rs"),
        ("src/.*", "src/.hidden.rs"),
        ("src/[!a].rs", "src/b.rs"),
        ("e \\[1\\]", "e [1]"),
        ("none*", ""),
        ("src/none", ""),
        ("src/a.rs", "src/a.rs"),
    ] {
        let found = host.glob(pattern.as_bytes()).await.unwrap();
        let home = host.home().len() + 1;
        let found: Vec<_> = found
            .iter()
            .map(|path| String::from_utf8_lossy(&path[home..]).into_owned())
            .collect();
        assert_eq!(found.join(" "), expected, "{pattern}");
    }
}

#[tokio::test]
async fn ranges_are_read_and_files_without_a_size_too() {
    let world = World::new();
    let host = world.host().await;
    let content = Random::new(3).content(700_000);
    std::fs::write(world.there("f"), &content).unwrap();
    for range in [
        0..u64::MAX,
        0..5,
        699_990..700_100,
        300_000..600_000,
        800_000..900_000,
    ] {
        let reader = host.read(b"f", range.clone()).await.unwrap();
        let mut read = Vec::new();
        let count = reader
            .copy(|bytes| {
                read.extend_from_slice(&bytes);
                std::future::ready(Ok::<_, files::Error>(()))
            })
            .await
            .unwrap();
        let end = usize::try_from(range.end)
            .unwrap_or(usize::MAX)
            .min(content.len());
        let start = usize::try_from(range.start).unwrap().min(end);
        assert!(
            read == content[start..end] && count == read.len() as u64,
            "{range:?}"
        );
    }
    let outcome = do_get(&host, &get(&world, b"/proc/self/status", "status"))
        .await
        .unwrap();
    assert!(
        outcome.bytes > 100
            && std::fs::read_to_string(world.here("status"))
                .unwrap()
                .contains("sftp-server")
    );
    assert!(host.read(b"/", 0..1).await.is_err());
}

#[tokio::test]
async fn trees_keep_content_modes_times_and_links_both_ways() {
    let world = World::new();
    let host = world.host().await;
    let mut random = Random::new(5);
    std::fs::create_dir_all(world.here("t/sub/empty")).unwrap();
    for (name, size, mode) in [
        ("t/a", 10, 0o640),
        ("t/sub/b\n", 500_000, 0o755),
        ("t/sub/c", 0, 0o400),
        ("t/big", 6 << 20, 0o644),
    ] {
        std::fs::write(world.here(name), random.content(size)).unwrap();
        std::fs::set_permissions(world.here(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
    std::fs::write(world.here(b"t/\xfe"), "bytes").unwrap();
    symlink("../elsewhere", world.here("t/sub/link")).unwrap();
    let past = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for name in ["t/a", "t/sub"] {
        std::fs::File::open(world.here(name))
            .unwrap()
            .set_modified(past)
            .unwrap();
    }
    std::fs::set_permissions(world.here("t/sub"), std::fs::Permissions::from_mode(0o550)).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, world.here("t/pipe"), rustix::fs::Mode::RUSR).unwrap();
    let (progress, watch) = Progress::new();
    let outcome = host
        .put(&put(&world, "t", b"~/u"), &progress, &Cancel::new())
        .await
        .unwrap();
    assert!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    assert_eq!(
        (outcome.files, outcome.folders, outcome.links, outcome.notes.len()),
        (5, 3, 1, 1)
    );
    assert_eq!(watch.borrow().bytes, watch.borrow().all_bytes);
    let outcome = do_get(&host, &get(&world, b"u", "back")).await.unwrap();
    assert!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    assert_eq!((outcome.files, outcome.folders, outcome.links), (5, 3, 1));
    assert!(
        std::fs::symlink_metadata(world.here("t/pipe"))
            .unwrap()
            .file_type()
            .is_fifo()
    );
    std::fs::remove_file(world.here("t/pipe")).unwrap();
    let original = tree(&world.here("t"));
    for copy in [world.there("u"), world.here("back")] {
        assert!(tree(&copy) == original, "{}", copy.display());
        for name in ["a", "sub"] {
            assert_eq!(
                std::fs::metadata(copy.join(name)).unwrap().mtime(),
                1_000_000_000,
                "{name}"
            );
        }
        assert_eq!(std::fs::metadata(copy.join("sub")).unwrap().mode() & 0o777, 0o550);
    }
}

#[tokio::test]
async fn a_link_named_as_the_target_stays_and_what_it_points_to_is_replaced() {
    let world = World::new();
    let host = world.host().await;
    for (side, other) in [("here", "there"), ("there", "here")] {
        let at = |name: &str| world.folder.path().join(side).join(name);
        std::fs::create_dir(at("real")).unwrap();
        std::fs::write(at("real/file"), "old").unwrap();
        symlink("real/file", at("link")).unwrap();
        std::fs::write(world.folder.path().join(other).join("source"), "new").unwrap();
        if side == "here" {
            let outcome = do_get(&host, &get(&world, b"source", "link")).await.unwrap();
            assert!(outcome.state.unwrap().hash.is_some());
        } else {
            drop(do_put(&host, &put(&world, "source", b"link")).await.unwrap());
        }
        assert!(
            std::fs::symlink_metadata(at("link")).unwrap().is_symlink(),
            "{side}"
        );
        assert_eq!(std::fs::read(at("real/file")).unwrap(), b"new", "{side}");
    }
}

#[tokio::test]
async fn a_target_in_another_state_is_refused_and_both_states_are_named() {
    let world = World::new();
    let host = world.host().await;
    std::fs::write(world.here("f"), "mine").unwrap();
    std::fs::write(world.there("f"), "theirs").unwrap();
    std::fs::set_permissions(world.there("f"), std::fs::Permissions::from_mode(0o2751)).unwrap();
    let state = host.state(b"f", true).await.unwrap().unwrap();
    let mut plan = put(&world, "f", b"f");
    plan.mode = Mode::Target;
    plan.expected = Expected::Missing;
    let error = do_put(&host, &plan).await.unwrap_err();
    assert!(matches!(
        error.cause(),
        Cause::Conflict {
            expected: None,
            found: Some(_)
        }
    ));
    for word in ["expected no file", "found 6 bytes", "f on the host"] {
        assert!(error.to_string().contains(word), "{error}");
    }
    // A touch alone is no change.
    let file = std::fs::File::open(world.there("f")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(5))
        .unwrap();
    plan.expected = Expected::Is(state);
    let outcome = do_put(&host, &plan).await.unwrap();
    assert_eq!(std::fs::read(world.there("f")).unwrap(), b"mine");
    assert_eq!(
        std::fs::metadata(world.there("f")).unwrap().mode() & 0o7777,
        0o2751
    );
    assert!(do_put(&host, &plan).await.is_err());
    plan.expected = Expected::Is(outcome.state.unwrap());
    drop(do_put(&host, &plan).await.unwrap());
    std::fs::remove_file(world.there("f")).unwrap();
    let error = do_put(&host, &plan).await.unwrap_err();
    assert!(error.to_string().contains("found no file"), "{error}");
    plan.expected = Expected::Missing;
    drop(do_put(&host, &plan).await.unwrap());
    assert!(tree(&world.there("")).1.is_empty());
}

#[tokio::test]
async fn what_fails_is_named_with_its_side() {
    let world = World::new();
    let host = world.host().await;
    std::fs::write(world.here("f"), "f").unwrap();
    std::fs::create_dir(world.there("folder")).unwrap();
    let cases = [
        (
            do_put(&host, &put(&world, "none", b"x")).await,
            Side::Local,
            "none on this machine",
        ),
        (
            do_put(&host, &put(&world, "f", b"no/x")).await,
            Side::Host,
            "no on the host: there is no such folder",
        ),
        (
            do_put(&host, &put(&world, "f", b"folder")).await,
            Side::Host,
            "it is a folder",
        ),
        (
            do_get(&host, &get(&world, b"none", "x")).await,
            Side::Host,
            "none on the host",
        ),
        (
            do_get(&host, &get(&world, b"/dev/null", "x")).await,
            Side::Host,
            "neither file nor folder",
        ),
    ];
    for (result, side, words) in cases {
        let error = result.unwrap_err();
        assert_eq!(error.side(), side, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    assert!(tree(&world.here("")).1.is_empty() && tree(&world.there("")).1.is_empty());
}

#[tokio::test]
async fn a_host_that_allows_one_session_gets_one() {
    let world = World::new();
    world.allow(1);
    let host = world.host().await;
    let content = Random::new(9).content(9 << 20);
    std::fs::write(world.here("big"), &content).unwrap();
    drop(do_put(&host, &put(&world, "big", b"big")).await.unwrap());
    drop(do_get(&host, &get(&world, b"big", "back")).await.unwrap());
    assert!(std::fs::read(world.here("back")).unwrap() == content);
    // It was asked for more, and not again and again.
    assert!(world.opened() <= 4, "{}", world.opened());
}
