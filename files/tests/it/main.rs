//! Public behaviour of the crate, with OpenSSH's `sftp-server` and with servers that lie.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod basics;
mod hostile;
mod oracle;
mod resume;
mod rig;
