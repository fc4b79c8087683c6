//! One witness through the whole program for each field report (`RA-…`); the variants stand in tables.
//!
//! | Reports | Open |
//! | --- | --- |
//! | RA-11 (tools run where the session is) | `remote_side.rs` |
//! | RA-19 to RA-21 (edits), RA-26 and RA-27 (searches) | `files.rs` |
//! | RA-22 to RA-25 (commands) | `commands.rs` |
//! | RA-28 to RA-31 (permissions), RA-50 (broken rules) | `permissions.rs` |
//! | RA-34 to RA-40 (what models send) | `model.rs` |
//! | RA-45, RA-46 (sessions), RA-51 (cuts) | `sessions.rs` |

mod commands;
mod files;
mod model;
mod permissions;
mod remote_side;
mod sessions;
