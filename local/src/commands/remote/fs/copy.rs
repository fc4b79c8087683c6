//! `reasonix remote fs get` and `put`: files and trees, one way or the other.

mod get;
mod put;
mod run;

pub(super) use self::{get::get, put::put};
