//! Reads the standing instructions that people leave for the agent.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | change which files are read, in which order | [`instructions`] |
//! | change imports | [`import`] |
//! | change limits | [`limits`] |

pub mod import;
pub mod instructions;
pub mod limits;

pub use instructions::{Diagnostic, Directories, Instruction, Instructions, Scope, load};
