//! What `uname` says, as a build target.

use std::fmt;

/// A kind of host there can be a build for, named as Rust names its targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `x86_64-unknown-linux-gnu`, linked statically, so it also runs where the C library is another.
    LinuxX86_64,
    /// `aarch64-unknown-linux-gnu`, likewise.
    LinuxAarch64,
    /// `x86_64-apple-darwin`.
    MacX86_64,
    /// `aarch64-apple-darwin`.
    MacAarch64,
}

/// There is no build for such a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no build exists for {os} on {arch}")]
pub struct UnknownPlatform {
    /// What `uname -s` said.
    pub os: String,
    /// What `uname -m` said.
    pub arch: String,
}

impl Target {
    /// Reads `uname -s` and `uname -m`.
    ///
    /// # Errors
    /// [`UnknownPlatform`], naming both, for everything without a build.
    pub fn from_uname(os: &str, arch: &str) -> Result<Self, UnknownPlatform> {
        match (os, arch) {
            ("Linux", "x86_64" | "amd64") => Ok(Self::LinuxX86_64),
            ("Linux", "aarch64" | "arm64") => Ok(Self::LinuxAarch64),
            ("Darwin", "x86_64") => Ok(Self::MacX86_64),
            ("Darwin", "arm64" | "aarch64") => Ok(Self::MacAarch64),
            _ => {
                let named = |word: &str| {
                    if word.is_empty() {
                        "an unnamed system"
                    } else {
                        word
                    }
                    .to_owned()
                };
                Err(UnknownPlatform {
                    os: named(os),
                    arch: named(arch),
                })
            }
        }
    }

    /// Gives the target this program was built for, if it is one of these.
    #[must_use]
    pub fn own() -> Option<Self> {
        let os = match std::env::consts::OS {
            "linux" => "Linux",
            "macos" => "Darwin",
            other => other,
        };
        Self::from_uname(os, std::env::consts::ARCH).ok()
    }

    /// Gives the name of the target triple, which is also the folder in `REASONIX_DIST`.
    #[must_use]
    pub fn triple(self) -> &'static str {
        match self {
            Self::LinuxX86_64 => "x86_64-unknown-linux-gnu",
            Self::LinuxAarch64 => "aarch64-unknown-linux-gnu",
            Self::MacX86_64 => "x86_64-apple-darwin",
            Self::MacAarch64 => "aarch64-apple-darwin",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.triple())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_uname() {
        let check = |os: &str, arch: &str, want: Option<&str>| {
            assert_eq!(
                Target::from_uname(os, arch).ok().map(Target::triple),
                want,
                "{os} {arch}"
            );
        };
        check("Linux", "x86_64", Some("x86_64-unknown-linux-gnu"));
        check("Linux", "aarch64", Some("aarch64-unknown-linux-gnu"));
        check("Darwin", "arm64", Some("aarch64-apple-darwin"));
        check("Linux", "riscv64", None);
        check("FreeBSD", "amd64", None);
        check("Welcome to the machine", "", None);
        let refusal = Target::from_uname("FreeBSD", "amd64").unwrap_err().to_string();
        assert_eq!(refusal, "no build exists for FreeBSD on amd64");
        assert!(Target::own().is_some());
    }
}
