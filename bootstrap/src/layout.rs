//! Names of folders and files on the host.
//!
//! ```text
//! REASONIX_HOME/bin/                       0700; or the next folder in which files can be run
//!     reasonix-<version>-<sha12>           a program, under this name only once verified and run
//!     .part-<sha12>-<random>               an upload under way, or left by a cut
//!     .new-<sha12>-<random>                a finished one being verified
//!     .lock-<sha12>                        held while uploading (flock)
//! <run directory>/identity.json            the daemon's hello, and its home, beside its socket
//! ```

/// Hexadecimal digits of the SHA-256 that names carry.
pub const SHORT_SUM: usize = 12;
/// Uploads continue at a multiple of this, in bytes.
pub const BLOCK: u64 = 64 * 1024;
/// Name of the file in the run directory in which a daemon keeps its [`protocol::Hello`] with one more field, `home`:
/// its absolute `REASONIX_HOME`. A daemon that does not say its home is never taken for ours without asking it.
pub const IDENTITY_FILE: &str = "identity.json";

/// Gives the first digits of a checksum.
#[must_use]
pub fn short(sum: &str) -> &str {
    sum.get(..SHORT_SUM).unwrap_or(sum)
}

/// Gives the final name of a program.
#[must_use]
pub fn program(version: &str, sum: &str) -> String {
    let version: String = version
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '_') {
                c
            } else {
                '_'
            }
        })
        .collect();
    format!("reasonix-{version}-{}", short(sum))
}

/// Gives version and short checksum of a program's name.
#[must_use]
pub fn parse_program(name: &str) -> Option<(&str, &str)> {
    let (version, sum) = name.strip_prefix("reasonix-")?.rsplit_once('-')?;
    let is_sum = sum.len() == SHORT_SUM && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_sum && !version.is_empty()).then_some((version, sum))
}

/// Gives the name of an upload under way.
#[must_use]
pub fn part(sum: &str, random: &str) -> String {
    format!(".part-{}-{random}", short(sum))
}

/// Gives the name of a finished upload being verified.
#[must_use]
pub fn candidate(sum: &str, random: &str) -> String {
    format!(".new-{}-{random}", short(sum))
}

/// Gives the name of the lock that uploads of one program hold.
#[must_use]
pub fn lock(sum: &str) -> String {
    format!(".lock-{}", short(sum))
}

/// Says whether a name is a part of the program with this checksum.
#[must_use]
pub fn is_part_of(name: &str, sum: &str) -> bool {
    let random = name
        .strip_prefix(".part-")
        .and_then(|rest| rest.strip_prefix(short(sum)))
        .and_then(|rest| rest.strip_prefix('-'));
    random.is_some_and(|random| !random.is_empty() && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn names_go_there_and_back() {
        assert_eq!(program("0.1.0", SUM), "reasonix-0.1.0-0123456789ab");
        assert_eq!(
            parse_program(&program("0.1.0-rc/1", SUM)),
            Some(("0.1.0_rc_1", "0123456789ab"))
        );
        for other in [
            "reasonix",
            "reasonix-0.1.0",
            "reasonix--0123456789ab",
            "x-0.1.0-0123456789ab",
        ] {
            assert_eq!(parse_program(other), None, "{other}");
        }
        assert!(is_part_of(&part(SUM, "a1"), SUM));
        assert!(
            !is_part_of(&part(SUM, ""), SUM)
                && !is_part_of(&part(SUM, "a b"), SUM)
                && !is_part_of(".part-x-a", SUM)
        );
    }
}
