//! Every setting: its type, default, place and meaning. The doc comments here are the reference.
//!
//! A table is written once with the `table!` macro, which gives the struct that the program uses, its defaults, and
//! the list of keys by which files are checked and documentation is made. Keys that are accepted but not used yet
//! stand in the `later` list of their table.

mod agent;
mod later;
mod permissions;
mod providers;
mod remote;
mod root;
mod sandbox;
mod serve;
mod tools;

pub use agent::Agent;
pub use permissions::{Fallback, Permissions, PresetName};
pub use providers::{
    Limits, ModelOverride, Price, Pricing, Provider, ProviderKind, Reasoning, Thinking, presets,
};
pub use remote::{AgentSide, Credentials, Forward, ForwardKind, Install, Login, Remote, RemoteHost, Via};
pub use root::Settings;
pub use sandbox::{Confinement, Sandbox};
pub use serve::Serve;
pub use tools::Tools;

/// The type of a value, with its limits.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// `true` or `false`.
    Bool,
    /// A whole number between two limits, both allowed.
    Integer(i64, i64),
    /// A number between two limits, both allowed.
    Float(f64, f64),
    /// A text.
    Text,
    /// A text that is never shown.
    Secret,
    /// A duration such as `8h`.
    Duration,
    /// One of these words. Older spellings stand for the word behind them.
    Choice(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A list of texts.
    TextList,
    /// A table of texts under names of the user's choice.
    TextMap,
    /// A table with fixed keys.
    Table(&'static Keys),
    /// A table of tables under names of the user's choice.
    TableMap(&'static Keys),
    /// A list of tables. The keys named must be there; the first of them tells the tables apart.
    Tables(&'static Keys, &'static [&'static str]),
    /// Keys that stand in the same table but form a group in the program.
    Group(&'static Keys),
    /// Anything: another part of the program checks it.
    Anything,
}

/// What a project file may do with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Set it.
    Anywhere,
    /// Nothing: it steers something outside the project.
    UserOnly,
    /// Set it to something at least as strict. Words are listed from loose to strict; `false` is stricter.
    Stricter,
    /// Add entries to the user's list.
    Adds,
    /// Leave entries out of the user's list, if there is one.
    Narrows,
    /// Name paths inside the project.
    InsideProject,
}

/// One key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    name: &'static str,
    /// Older names, still read.
    pub aliases: &'static [&'static str],
    /// What it means, line by line, as written in the source.
    pub doc: &'static [&'static str],
    /// Its type.
    pub kind: Kind,
    /// What a project file may do with it.
    pub scope: Scope,
}

impl Key {
    /// Gives the name as it stands in a file.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name.trim_start_matches("r#")
    }

    /// Gives the meaning as one text.
    #[must_use]
    pub fn doc_text(&self) -> String {
        self.doc
            .iter()
            .map(|line| line.trim())
            .collect::<Vec<_>>()
            .join(" ")
            .trim()
            .to_owned()
    }

    const fn later(name: &'static str, kind: Kind, doc: &'static [&'static str]) -> Self {
        Self {
            name,
            aliases: &[],
            doc,
            kind,
            scope: Scope::Anywhere,
        }
    }

    const fn user_only(self) -> Self {
        Self {
            scope: Scope::UserOnly,
            ..self
        }
    }
}

/// The keys of a table.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    /// Keys that the program uses. They are checked.
    pub used: &'static [Key],
    /// Keys that are accepted and do nothing yet. Only their names are checked.
    pub later: &'static [Key],
}

impl Keys {
    /// Gives every key that may stand in this table, groups opened, and whether it is used.
    #[must_use]
    pub fn all(&self) -> Vec<(&'static Key, Use)> {
        let mut all = Vec::new();
        for key in self.used {
            match key.kind {
                Kind::Group(keys) => all.extend(keys.all()),
                _ => all.push((key, Use::Now)),
            }
        }
        all.extend(self.later.iter().map(|key| (key, Use::Later)));
        all
    }

    /// Finds a key by its name or an older one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(&'static Key, Use)> {
        self.all()
            .into_iter()
            .find(|(key, _)| key.name() == name || key.aliases.contains(&name))
    }
}

/// Whether a key does anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The program uses it.
    Now,
    /// It is accepted so that one file serves several versions.
    Later,
}

/// One line of the reference.
#[derive(Debug, Clone)]
pub struct KeyEntry {
    /// The key as a path, such as `remote.hosts[].port`.
    pub path: String,
    /// Its description.
    pub key: &'static Key,
    /// Whether it does anything.
    pub used: Use,
}

/// Lists every key that is no table, in the order of the source.
#[must_use]
pub fn keys() -> Vec<KeyEntry> {
    let mut entries = Vec::new();
    list(&Settings::KEYS, "", Use::Now, &mut entries);
    entries
}

fn list(keys: &Keys, prefix: &str, of_table: Use, entries: &mut Vec<KeyEntry>) {
    for (key, used) in keys.all() {
        let used = if of_table == Use::Later { Use::Later } else { used };
        let path = format!("{prefix}{}", key.name());
        match key.kind {
            Kind::Table(inner) => list(inner, &format!("{path}."), used, entries),
            Kind::Tables(inner, _) => list(inner, &format!("{path}[]."), used, entries),
            Kind::TableMap(inner) => list(inner, &format!("{path}.<name>."), used, entries),
            _ => entries.push(KeyEntry { path, key, used }),
        }
    }
}

/// Writes a table once: struct, defaults and key list.
///
/// Each field is `name: type = default, kind[, scope][ => alias…];`.
macro_rules! table {
    (
        $(#[doc = $about:literal])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[serde($($attribute:tt)*)])?
                $field:ident : $type:ty = $default:expr, $kind:expr $(, $scope:ident)? $(=> $($alias:literal)+)? ;
            )*
        }
        later $later:expr;
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                $(#[serde($($attribute)*)])?
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            /// The keys of this table.
            pub const KEYS: $crate::schema::Keys = $crate::schema::Keys {
                used: &[$($crate::schema::Key {
                    name: stringify!($field),
                    aliases: &[$($($alias),+)?],
                    doc: &[$($doc),*],
                    kind: $kind,
                    scope: $crate::schema::table!(@scope $($scope)?),
                }),*],
                later: $later,
            };
        }
    };
    (@scope) => { $crate::schema::Scope::Anywhere };
    (@scope $scope:ident) => { $crate::schema::Scope::$scope };
}

/// Writes a set of words once: enum, default and word list.
macro_rules! choice {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident, default $default:ident {
            $( $(#[doc = $doc:literal])* $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $( $(#[doc = $doc])* #[serde(rename = $word)] $variant, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        }

        impl $name {
            /// The words a file may use.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// Gives the word for it.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

pub(crate) use choice;
pub(crate) use table;
