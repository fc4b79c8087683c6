//! Commands that begin with a slash and never reach the model.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | add a command, or change its name or words | [`registry`] |
//! | know what the screen can be asked to do | [`effect`] |
//! | know when a text is a command | [`call`] |

mod call;
mod effect;
mod nearest;
mod registry;

pub(crate) use self::{
    call::{Call, Parsed, parse},
    effect::{Effect, Fact},
    registry::{Arguments, COMMANDS, Command},
};
