//! What each call does, one file per resource.

pub(crate) mod broker;
pub(crate) mod commands;
pub(crate) mod daemon;
pub(crate) mod events;
pub(crate) mod fallback;
pub(crate) mod history;
pub(crate) mod ports;
pub(crate) mod sessions;
