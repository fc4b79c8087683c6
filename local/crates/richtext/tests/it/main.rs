//! The public face: what texts look like, and what holds for every text.

mod diff;
mod dump;
mod markdown;
mod output;
mod properties;
