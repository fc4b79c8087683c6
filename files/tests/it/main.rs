//! Public behaviour of the crate.
