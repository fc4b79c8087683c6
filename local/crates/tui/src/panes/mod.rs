//! The parts of the screen that are always there: transcript, composer, status line.

pub(crate) mod composer;
pub(crate) mod status;
pub(crate) mod transcript;
