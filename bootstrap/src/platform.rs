//! What `uname` says, as a build target.

use std::fmt;

/// A kind of host there can be a build for, named as Rust names its targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `x86_64-unknown-linux-gnu`, linked statically, so it also runs where the C library is another.
    LinuxX86_64,
    /// `aarch64-unknown-linux-gnu`, likewise.
    LinuxAarch64,
    /// `i686-unknown-linux-gnu`: a kernel of 32 bits, or one that says so (`linux32`).
    LinuxI686,
    /// `armv7-unknown-linux-gnueabihf`.
    LinuxArmv7,
    /// `riscv64gc-unknown-linux-gnu`.
    LinuxRiscv64,
    /// `powerpc64le-unknown-linux-gnu`.
    LinuxPowerpc64Le,
    /// `s390x-unknown-linux-gnu`.
    LinuxS390x,
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
    /// Reads `uname -s` and `uname -m`, which is about the kernel. A build is static, so the word size of the programs
    /// around it does not matter: a kernel of 64 bits above a userland of 32 bits runs it.
    ///
    /// # Errors
    /// [`UnknownPlatform`], naming both, for everything without a build.
    pub fn from_uname(os: &str, arch: &str) -> Result<Self, UnknownPlatform> {
        match (os, arch) {
            ("Linux", "x86_64" | "amd64") => Ok(Self::LinuxX86_64),
            ("Linux", "aarch64" | "arm64") => Ok(Self::LinuxAarch64),
            ("Linux", "i386" | "i486" | "i586" | "i686") => Ok(Self::LinuxI686),
            // A 64-bit ARM kernel calls itself armv8l towards programs of 32 bits; those are what it runs for them.
            ("Linux", "armv7l" | "armv8l") => Ok(Self::LinuxArmv7),
            ("Linux", "riscv64") => Ok(Self::LinuxRiscv64),
            ("Linux", "ppc64le") => Ok(Self::LinuxPowerpc64Le),
            ("Linux", "s390x") => Ok(Self::LinuxS390x),
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
            Self::LinuxI686 => "i686-unknown-linux-gnu",
            Self::LinuxArmv7 => "armv7-unknown-linux-gnueabihf",
            Self::LinuxRiscv64 => "riscv64gc-unknown-linux-gnu",
            Self::LinuxPowerpc64Le => "powerpc64le-unknown-linux-gnu",
            Self::LinuxS390x => "s390x-unknown-linux-gnu",
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
        check("Linux", "riscv64", Some("riscv64gc-unknown-linux-gnu"));
        check("Linux", "armv7l", Some("armv7-unknown-linux-gnueabihf"));
        check("Linux", "i686", Some("i686-unknown-linux-gnu"));
        check("Linux", "mips64", None);
        check("FreeBSD", "amd64", None);
        check("Welcome to the machine", "", None);
        let refusal = Target::from_uname("FreeBSD", "amd64").unwrap_err().to_string();
        assert_eq!(refusal, "no build exists for FreeBSD on amd64");
        assert!(Target::own().is_some());
    }
}
