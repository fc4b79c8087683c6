//! What a person sees and types, in a real terminal.

mod demo;
mod doors;
mod exits;
mod guide;
mod hosts;
mod pictures;
mod plain;
mod rig;
mod setup;
mod typing;
mod work;
