//! A shell on a host, as seen from here: what is typed and shown, and what the host runs.

pub(crate) mod escape;
pub(crate) mod far;
pub(crate) mod line;
pub(crate) mod modes;
pub(crate) mod relay;
