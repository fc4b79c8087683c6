//! What a person sees and types, in a real terminal.

mod choices;
mod demo;
mod doors;
mod exits;
mod guide;
mod hosts;
mod pictures;
mod plain;
mod recovery;
pub(crate) mod rig;
mod setup;
mod typing;
mod work;
