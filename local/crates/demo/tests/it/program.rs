//! The program that is put on the host.

use std::path::PathBuf;

/// Finds the `reasonix` binary: `REASONIX_TEST_BINARY`, else the one that was built beside this test.
pub(crate) fn reasonix() -> PathBuf {
    #[expect(
        clippy::disallowed_methods,
        reason = "how the test stages say which build to test"
    )]
    let given = std::env::var_os("REASONIX_TEST_BINARY").map(PathBuf::from);
    let program = given.unwrap_or_else(|| {
        // target/debug/deps/it-0123456789abcdef
        let own = std::env::current_exe().unwrap();
        own.parent()
            .and_then(|deps| deps.parent())
            .unwrap()
            .join("reasonix")
    });
    assert!(
        program.is_file(),
        "{} is missing; build it with `cargo build -p local`, or name one in REASONIX_TEST_BINARY",
        program.display()
    );
    program
}
