//! Thousands of random operations, interrupted at random bytes: each file is whole, old or new, on both sides.

use std::{
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    time::Duration,
};

use files::{Cancel, Cause, Expected, Get, Host, Mode, Outcome, Progress, Put, Transfer};

use crate::rig::{Blow, Node, Random, Tree, World, tree};

/// Operations of each of the four tests.
const OPERATIONS: usize = 1250;

const NAMES: [&[u8]; 6] = [
    b"a",
    b"with space",
    b"new\nline",
    b"\xff\xfe",
    "gr\u{fc}n".as_bytes(),
    b"-rf",
];
/// Names that a tree consists of, below its root.
const LEAVES: [&[u8]; 4] = [b"one", b"sub/two", b"sub/deep/\xf0three", b"sub/four 4"];
const MODES: [u32; 4] = [0o644, 0o600, 0o755, 0o444];

struct Play {
    world: World,
    host: Host,
    random: Random,
    lost: bool,
}

/// What is to be checked after an operation.
struct Expectation {
    here: Tree,
    there: Tree,
}

impl Play {
    async fn new(seed: u64) -> Self {
        let world = World::new();
        let host = world.host().await;
        Self {
            world,
            host,
            random: Random::new(seed),
            lost: false,
        }
    }

    fn size(&mut self) -> usize {
        let most = self.random.pick(&[1, 100, 5000, 40_000, 300_000]);
        usize::try_from(self.random.below(most)).unwrap()
    }

    /// Writes a file as somebody else would.
    fn write(&mut self, path: &Path) -> Node {
        let size = self.size();
        let content = self.random.content(size);
        let mode = self.random.pick(&MODES);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        drop(std::fs::remove_file(path));
        std::fs::write(path, &content).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        Node::File { content, mode }
    }

    /// Makes a tree with some of the leaves, and gives what is in it.
    fn plant(&mut self, side: &Path) -> Tree {
        let root = side.join("tree");
        drop(std::fs::remove_dir_all(&root));
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        for leaf in LEAVES {
            if self.random.below(3) > 0 {
                self.write(
                    &root.join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(
                        leaf,
                    )),
                );
            }
        }
        symlink(format!("to/{}", self.random.below(9)), root.join("link")).unwrap();
        tree(side)
            .0
            .into_iter()
            .filter(|(name, _)| name.starts_with(b"tree"))
            .collect()
    }

    /// Arms the line: it is cut, the user cancels, or nothing happens.
    fn arm(&mut self) -> Cancel {
        let cancel = Cancel::new();
        let most = self.random.pick(&[300, 3000, 30_000, 300_000]);
        let bytes = i64::try_from(self.random.below(most)).unwrap();
        match self.random.below(10) {
            0..3 => self.world.arm(bytes, Blow::Cut),
            3..6 => self.world.arm(bytes, Blow::Cancel(cancel.clone())),
            _ => self.world.disarm(),
        }
        cancel
    }

    fn before(&self) -> Expectation {
        Expectation {
            here: tree(&self.world.here("")).0,
            there: tree(&self.world.there("")).0,
        }
    }

    async fn put(
        &mut self,
        name: &[u8],
        target: &[u8],
        expected: Expected,
        cancel: &Cancel,
    ) -> Result<Outcome, files::Error> {
        let put = Put {
            from: self.world.here(name),
            to: target.to_vec(),
            transfer: Transfer {
                recursive: name == b"tree",
                ..Transfer::default()
            },
            mode: Mode::Source,
            expected,
        };
        self.host.put(&put, &Progress::default(), cancel).await
    }

    async fn get(&mut self, name: &[u8], target: &[u8], cancel: &Cancel) -> Result<Outcome, files::Error> {
        let get = Get {
            from: name.to_vec(),
            to: self.world.here(target),
            transfer: Transfer {
                recursive: name == b"tree",
                ..Transfer::default()
            },
            hash: true,
        };
        self.host.get(&get, &Progress::default(), cancel).await
    }

    /// One operation, and the check after it.
    async fn turn(&mut self) {
        let (name, target) = (self.random.pick(&NAMES), self.random.pick(&NAMES));
        match self.random.below(10) {
            0..3 => {
                let node = self.write(&self.world.here(name));
                let before = self.before();
                let cancel = self.arm();
                let result = self.put(name, target, Expected::Anything, &cancel).await;
                self.check(before, Tree::new(), [(target.to_vec(), node)].into(), result)
                    .await;
            }
            3..6 => {
                let node = self.write(&self.world.there(name));
                let before = self.before();
                let cancel = self.arm();
                let result = self.get(name, target, &cancel).await;
                self.check(before, [(target.to_vec(), node)].into(), Tree::new(), result)
                    .await;
            }
            6 => {
                let new = self.plant(&self.world.here(""));
                let before = self.before();
                let cancel = self.arm();
                let result = self.put(b"tree", b"tree", Expected::Anything, &cancel).await;
                self.check(before, Tree::new(), new, result).await;
            }
            7 => {
                let new = self.plant(&self.world.there(""));
                let before = self.before();
                let cancel = self.arm();
                let result = self.get(b"tree", b"tree", &cancel).await;
                self.check(before, new, Tree::new(), result).await;
            }
            8 => self.edit(name, true).await,
            _ => self.edit(name, false).await,
        }
    }

    /// What an editor does: takes the state, writes back only where it still is so.
    async fn edit(&mut self, name: &[u8], meddled: bool) {
        self.write(&self.world.there(name));
        let node = self.write(&self.world.here(name));
        self.world.disarm();
        let mut state = self.host.state(name, true).await;
        if state.as_ref().is_err_and(files::Error::is_lost) {
            // The last operation was whole before its line was cut.
            self.host.close().await;
            self.world.settle().await;
            self.host = self.world.host().await;
            state = self.host.state(name, true).await;
        }
        let state = state.unwrap().unwrap();
        if meddled {
            // Of the same length and time: only the hash tells.
            let path = self.world.there(name);
            let metadata = std::fs::metadata(&path).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
            let mut content = std::fs::read(&path).unwrap();
            match content.first_mut() {
                Some(first) => *first ^= 1,
                None => content.push(1),
            }
            std::fs::write(&path, content).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(metadata.modified().unwrap()).unwrap();
        }
        let before = self.before();
        let cancel = self.arm();
        let result = self.put(name, name, Expected::Is(state), &cancel).await;
        let new: Tree = match meddled {
            true => Tree::new(),
            false => [(name.to_vec(), node)].into(),
        };
        if meddled {
            match &result {
                Ok(outcome) => assert!(outcome.cancelled, "the change of another was not seen"),
                Err(error) => assert!(
                    error.is_lost() || matches!(error.cause(), Cause::Conflict { .. }),
                    "{error}"
                ),
            }
        }
        let result = match result {
            Err(error) if matches!(error.cause(), Cause::Conflict { .. }) => {
                assert!(meddled, "{error}");
                Ok(Outcome::default())
            }
            other => other,
        };
        self.check(before, Tree::new(), new, result).await;
    }

    async fn check(
        &mut self,
        before: Expectation,
        here: Tree,
        there: Tree,
        result: Result<Outcome, files::Error>,
    ) {
        let interrupted = match &result {
            Ok(outcome) => {
                assert!(outcome.failed.is_empty(), "{:?}", outcome.failed);
                outcome.cancelled
            }
            Err(error) => {
                assert!(error.is_lost(), "{error} {error:?}");
                true
            }
        };
        self.lost |= result.as_ref().is_err_and(files::Error::is_lost);
        if self.lost {
            self.host.close().await;
            self.world.settle().await;
        }
        self.world.disarm();
        for (side, before, new) in [("here", before.here, here), ("there", before.there, there)] {
            let (after, litter) = tree(&self.world.folder.path().join(side));
            assert!(self.lost || litter.is_empty(), "left {side} {litter:?}");
            compare(side, &before, &new, &after, interrupted);
        }
        if std::mem::take(&mut self.lost) {
            self.host = self.world.host().await;
            self.sweep().await;
        }
    }

    /// Cleans up after a cut.
    async fn sweep(&self) {
        for folder in ["", "tree", "tree/sub", "tree/sub/deep"] {
            if self.world.there(folder).exists() {
                self.host.sweep(folder.as_bytes(), Duration::ZERO).await.unwrap();
            }
            if self.world.here(folder).exists() {
                files::sweep_local(&self.world.here(folder), Duration::ZERO).unwrap();
            }
        }
        for side in ["here", "there"] {
            let (_, litter) = tree(&self.world.folder.path().join(side));
            assert!(litter.is_empty(), "left {side} {litter:?}");
        }
    }
}

/// Each name has what it had or what it was to get; all of the new where nothing interrupted.
fn compare(side: &str, before: &Tree, new: &Tree, after: &Tree, interrupted: bool) {
    let names = before.keys().chain(new.keys()).chain(after.keys());
    for name in names {
        let (old, new, now) = (before.get(name), new.get(name), after.get(name));
        let is_new = now == new.or(old);
        let whole = is_new || (interrupted && now == old);
        assert!(
            whole,
            "{side} {}: it is neither the old nor the new file (interrupted: {interrupted}): {:?}, not {:?} or {:?}",
            sftp::name::show(name),
            short(now),
            short(old),
            short(new)
        );
    }
}

fn short(node: Option<&Node>) -> String {
    match node {
        Some(Node::File { content, mode }) => format!(
            "{} bytes, mode {mode:o}, {:02x?}",
            content.len(),
            content.get(..4)
        ),
        other => format!("{other:?}"),
    }
}

#[expect(clippy::print_stderr, reason = "the seed of a run that failed")]
async fn play(number: u64) {
    let seed = match option_env!("FILES_SEED") {
        Some(seed) => seed.parse().unwrap(),
        None => stdx::clock::unix_millis().wrapping_mul(1000) + number,
    };
    eprintln!("seed {seed}: FILES_SEED={seed} plays it again, as far as the timing of processes allows");
    let mut play = Play::new(seed).await;
    for _ in 0..OPERATIONS {
        play.turn().await;
    }
    play.host.close().await;
    play.world.settle().await;
}

#[tokio::test]
async fn random_operations_never_tear_a_file_first_quarter() {
    play(0).await;
}

#[tokio::test]
async fn random_operations_never_tear_a_file_second_quarter() {
    play(1).await;
}

#[tokio::test]
async fn random_operations_never_tear_a_file_third_quarter() {
    play(2).await;
}

#[tokio::test]
async fn random_operations_never_tear_a_file_fourth_quarter() {
    play(3).await;
}
