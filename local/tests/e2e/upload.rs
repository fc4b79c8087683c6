//! The real program's way to the host, cut, refused and out of space.

use std::{fs, os::unix::fs::PermissionsExt as _};

use scripted_model::Scenario;

use crate::rig::{HostOptions, Rig, edit, eventually, program};

const RUN: [&str; 4] = ["run", "--remote", "box", "go"];

/// Random numbers that are the same for the same seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Lists the host's programs under final names.
fn final_names(rig: &Rig) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(rig.programs()) else {
        return Vec::new();
    };
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            !name.starts_with('.')
        })
        .collect()
}

/// Gives the bytes of the compressed program.
fn sent() -> u64 {
    let mut packer = stdx::process::blocking_command("zstd");
    let packer = packer.args(["-3", "-q", "-c"]).arg(program());
    let packed = packer.stdout(std::process::Stdio::piped()).output().unwrap();
    assert!(packed.status.success());
    packed.stdout.len() as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_cut_fifty_times_leaves_no_wrong_program() {
    const SEED: u64 = 20_261_130;
    let rig = Rig::new(Scenario::new().say("Up.").repeated(), HostOptions::default()).await;
    let whole = fs::read(program()).unwrap();
    // Fifty cuts, half a step apart on average, spread over all that is sent, since each try goes on where the last one
    // ended.
    let step = sent() / 25;
    let mut random = Random(SEED);
    let (mut cut, mut arrived, mut resumed) = (0, 0, 0);
    for number in 0..50 {
        let after = u32::try_from(random.below(step)).unwrap();
        // On loopback all of it would be cut off before the host has begun to take it.
        rig.proxy.pace(1_000_000);
        rig.proxy.cut_after(after);
        let ran = rig.run(&RUN).await;
        let label = format!("seed {SEED}, cut {number} after {after} bytes: {}", ran.stderr);
        for file in final_names(&rig) {
            assert!(fs::read(&file).unwrap() == whole, "{}: {label}", file.display());
        }
        match ran.code {
            Some(3) => cut += 1,
            // All of it had arrived; the cut came later or not at all. Begin again.
            Some(0) => {
                arrived += 1;
                rig.proxy.restore();
                let stopped = rig.run(&["remote", "stop", "--force", "box"]).await;
                assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
                for file in final_names(&rig) {
                    fs::remove_file(file).unwrap();
                }
            }
            _ => panic!("{:?}: {label}", ran.code),
        }
        resumed += usize::from(!ran.stderr.contains(" 0 % of") && ran.stderr.contains(" % of"));
    }
    rig.proxy.restore();
    let ran = rig.run(&RUN).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let there = final_names(&rig);
    assert_eq!(there.len(), 1);
    assert!(fs::read(&there[0]).unwrap() == whole);
    assert!(
        cut > 25,
        "{cut} of 50 were cut, {arrived} arrived, {resumed} went on"
    );
    assert!(
        resumed > 10,
        "{cut} of 50 were cut, {arrived} arrived, {resumed} went on"
    );
    println!("{cut} of 50 were cut, {arrived} arrived, {resumed} went on");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_clients_at_once_upload_once_and_share_one_agent() {
    let host = HostOptions {
        shell: Some(("/bin/sh".into(), "PATH=\"$HOME/tools:$PATH\"; export PATH".into())),
        ..HostOptions::default()
    };
    let rig = Rig::new(Scenario::new().say("Up.").repeated(), host).await;
    // Every upload unpacks once, so the unpacker knows how many there were.
    let tools = rig.host().join("tools");
    fs::create_dir(&tools).unwrap();
    let unpacker = tools.join("zstd");
    fs::write(
        &unpacker,
        "#!/bin/sh\necho upload >> \"$HOME/uploads\"\nexec /usr/bin/zstd \"$@\"\n",
    )
    .unwrap();
    fs::set_permissions(&unpacker, fs::Permissions::from_mode(0o755)).unwrap();
    let (first, second, third) = tokio::join!(rig.run(&RUN), rig.run(&RUN), rig.run(&RUN));
    for ran in [&first, &second, &third] {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stdout.contains("Up."), "{ran:?}");
    }
    assert_eq!(
        fs::read_to_string(rig.host().join("uploads")).unwrap(),
        "upload\n"
    );
    let left: Vec<_> = fs::read_dir(rig.programs())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(left, final_names(&rig), "neither a part nor a lock is left");
    assert_eq!(left.len(), 1);
    // What carried the wire of a client may still be ending.
    eventually("one agent runs", || rig.running_programs().len() == 1).await;
    assert_eq!(rig.running_programs(), [rig.daemon_pid().unwrap()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_fails_leaves_no_process() {
    let rig = Rig::new(Scenario::new().say("Up."), HostOptions::installed()).await;
    let config = rig.host().join(".reasonix/config.toml");
    edit(&config, "[sandbox]\n", "[sandbox\n");
    let ran = rig.run(&RUN).await;
    assert!(matches!(ran.code, Some(2 | 5)), "{:?}: {}", ran.code, ran.stderr);
    for word in ["launch on box", "config.toml:6"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    assert_eq!(rig.running_programs(), [0; 0]);

    // Mended, it works.
    edit(&config, "[sandbox\n", "[sandbox]\n");
    let ran = rig.run(&RUN).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_cannot_serve_leaves_no_process_and_says_why() {
    let rig = Rig::new(Scenario::new().say("Up."), HostOptions::installed()).await;
    // Sessions cannot be kept: the daemon itself fails, after it has detached.
    fs::write(rig.host().join(".reasonix/sessions"), "in the way").unwrap();
    let ran = rig.run(&RUN).await;
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    for word in ["launch on box", "sessions"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    eventually("no process is left", || rig.running_programs().is_empty()).await;
    assert!(rig.daemon().is_none(), "no word is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_names_the_folder_and_what_is_missing() {
    if !rustix::process::getuid().is_root() {
        // Another user cannot mount; the same is tested in the crate `bootstrap` in a user namespace.
        return;
    }
    // Each command of the host sees small disks of its own, which are gone with the command.
    let noise = "if [ -z \"$RX_SMALL\" ]; then RX_SMALL=1; export RX_SMALL; exec unshare -m \"$0\"; fi\n\
                 mkdir -p .reasonix/bin .cache && mount -t tmpfs -o size=1m none .reasonix/bin && mount -t tmpfs -o size=900k none .cache && \
                 mount -t tmpfs -o size=900k none /var/tmp || exit 98";
    let host = HostOptions {
        shell: Some(("/bin/sh".into(), noise.into())),
        ..HostOptions::default()
    };
    let rig = Rig::new(Scenario::new(), host).await;
    let ran = rig.run(&RUN).await;
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    let folder = rig.programs().display().to_string();
    for word in [folder.as_str(), "bytes", "hint: "] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    assert_eq!(final_names(&rig).len(), 0);
    assert_eq!(rig.running_programs(), [0; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_arrives_whatever_the_host_can_unpack() {
    if !rustix::process::getuid().is_root() {
        // Another user cannot mount; the same is tested in the crate `bootstrap` in a user namespace.
        return;
    }
    let whole = fs::read(program()).unwrap();
    for hidden in ["", "zstd", "zstd gzip"] {
        // Each command of the host sees a system without these programs.
        let noise = format!(
            "if [ -z \"$RX_LESS\" ]; then RX_LESS=1; export RX_LESS; exec unshare -m \"$0\"; fi\n\
             for tool in {hidden}; do mount --bind /dev/null \"$(command -v $tool)\" || exit 98; done"
        );
        let host = HostOptions {
            shell: Some(("/bin/sh".into(), noise)),
            ..HostOptions::default()
        };
        let rig = Rig::new(Scenario::new().say("Up."), host).await;
        let ran = rig.run(&RUN).await;
        assert_eq!(ran.code, Some(0), "{hidden}: {}", ran.stderr);
        let there = final_names(&rig);
        assert_eq!(there.len(), 1, "{hidden}");
        assert!(fs::read(&there[0]).unwrap() == whole, "{hidden}");
    }
}
