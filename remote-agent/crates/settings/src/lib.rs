//! Reads layered TOML settings and remembers where every value came from.
//!
//! Order: flag, `REASONIX_*` variable, project file, user file, default. The caller gives paths, variables and flags;
//! nothing here looks for a home directory or an environment. A file that exists and cannot be used is an error with
//! file, line, column and key, and nothing runs. A project file steers nothing outside itself.
//!
//! | I want to… | Open |
//! | --- | --- |
//! | add a setting | [`schema`], then `reasonix.example.toml` |
//! | change how files are found and read | [`mod@load`] |
//! | change what wins, or what `explain` says | [`layer`] |
//! | change what is refused or warned about | [`check`] |
//! | change what a project file may set | [`project`] |
//! | change what variables and flags may set | [`overrides`] |
//! | change how a model name is understood | [`model`] |
//! | change how keys are stored | [`env_file`] |
//! | change how hosts are added and removed | [`hosts`] |
//! | change how providers are added | [`providers`] |

pub mod check;
pub mod duration;
pub mod env_file;
pub mod error;
pub mod expand;
mod forwards;
pub mod hosts;
pub mod layer;
pub mod load;
pub mod model;
pub mod node;
pub mod overrides;
pub mod project;
pub mod providers;
pub mod reference;
pub mod schema;

mod consistency;
mod prompt_file;
mod suggest;

pub use env_file::EnvFile;
pub use error::{Error, Problem, Warning};
pub use forwards::{add_forward, remove_forward};
pub use hosts::{NewHost, add_host, remove_host};
pub use layer::Explanation;
pub use load::{Loaded, Sources, load};
pub use model::{ModelChoice, UnknownModel};
pub use node::{Origin, Place};
pub use overrides::Flag;
pub use providers::{NewProvider, add_provider, replace_default_model, set_default_model};
pub use reference::reference_markdown;
pub use schema::{Settings, keys};
