//! `[serve]`

use std::time::Duration;

use super::{Key, Kind, table};

table! {
    /// The server that runs sessions on a host.
    pub struct Serve {
        /// After how long without sessions at work and without clients it ends. 0 means never.
        #[serde(with = "crate::duration")]
        idle_exit: Duration = Duration::from_secs(8 * 60 * 60), Kind::Duration;
        /// Whether clients that come over TCP may run `!command` lines. Those on the socket always may.
        allow_shell: bool = false, Kind::Bool;
    }
    later &[
        Key::later("auth_mode", Kind::Text, &["`token`, `password` or `none`, for clients that come over TCP."]),
        Key::later("token", Kind::Secret, &["A fixed token. Empty means one for each start."]),
        Key::later("password_hash", Kind::Secret, &["The hash of the password."]),
        Key::later("behind_proxy", Kind::Bool, &["Whether a proxy's headers are believed."]),
    ];
}
