//! The command line: what it refuses, what it prints, how it ends.
//!
//! | Behaviour | Open |
//! | --- | --- |
//! | wrong arguments, settings, environment, input | `bad_input.rs` |
//! | text, JSON, closed and full outputs, help | `output.rs` |
//! | hosts, keys, `config` | `settings.rs` |
//! | Ctrl-C and other signals | `signals.rs` |
//! | `serve` in the foreground, detached and on standard input and output | `serve.rs` |

mod bad_input;
mod output;
mod serve;
mod settings;
mod signals;
