//! The line that a client may show for a name: as `ls -l` writes it, in UTC.

use std::borrow::Cow;

use rustix::fs::{FileType, Mode, Stat};
use stdx::clock;

use super::accounts::Names;

/// Half a year, in seconds: older and later times show the year instead of the time of day, as in ls(1).
const RECENT: i64 = 365 * 24 * 60 * 60 / 2;

/// Writes the line of a file.
pub(super) fn line(name: &[u8], stat: &Stat, names: &mut Names) -> Vec<u8> {
    let mut line = format!(
        "{}  {:>3} {:<8} {:<8} {:>8} {} ",
        mode_text(stat.st_mode),
        stat.st_nlink,
        names.user(stat.st_uid),
        names.group(stat.st_gid),
        stat.st_size,
        date(stat.st_mtime)
    )
    .into_bytes();
    line.extend_from_slice(name);
    line
}

/// Writes kind and permissions as `ls -l` does, in ten characters (strmode(3)).
#[must_use]
pub fn mode_text(raw: u32) -> String {
    let kind = match FileType::from_raw_mode(raw) {
        FileType::RegularFile => '-',
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::Fifo => 'p',
        FileType::Socket => 's',
        FileType::CharacterDevice => 'c',
        FileType::BlockDevice => 'b',
        FileType::Unknown => '?',
    };
    let mode = Mode::from_raw_mode(raw);
    let bit = |flag, letter| if mode.contains(flag) { letter } else { '-' };
    let runs = |run, special, both, alone| match (mode.contains(run), mode.contains(special)) {
        (true, true) => both,
        (false, true) => alone,
        (true, false) => 'x',
        (false, false) => '-',
    };
    let text = [
        kind,
        bit(Mode::RUSR, 'r'),
        bit(Mode::WUSR, 'w'),
        runs(Mode::XUSR, Mode::SUID, 's', 'S'),
        bit(Mode::RGRP, 'r'),
        bit(Mode::WGRP, 'w'),
        runs(Mode::XGRP, Mode::SGID, 's', 'S'),
        bit(Mode::ROTH, 'r'),
        bit(Mode::WOTH, 'w'),
        runs(Mode::XOTH, Mode::SVTX, 't', 'T'),
    ];
    text.into_iter().collect()
}

/// Writes `Jan  2 03:04`, or `Jan  2  2003` for what is not of the last half year.
fn date(seconds: i64) -> String {
    let now = i64::try_from(clock::unix_millis() / 1000).unwrap_or(i64::MAX);
    let millis = u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
    // 2003-01-02T03:04:05.006Z
    let stamp = clock::rfc3339(millis);
    let part = |from: usize, to: usize| stamp.get(from..to).unwrap_or("?");
    let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = part(5, 7).parse::<usize>().unwrap_or(1);
    let month = months.get(month.wrapping_sub(1)).unwrap_or(&"?");
    let day: Cow<'_, str> = match part(8, 10).strip_prefix('0') {
        Some(digit) => format!(" {digit}").into(),
        None => part(8, 10).into(),
    };
    let recent = (now.saturating_sub(RECENT)..=now).contains(&seconds);
    if recent {
        format!("{month} {day} {}", part(11, 16))
    } else {
        format!("{month} {day}  {}", part(0, 4))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn modes_are_written_as_ls_does() {
        for (raw, text) in [
            (0o100_644, "-rw-r--r--"),
            (0o040_755, "drwxr-xr-x"),
            (0o104_711, "-rws--x--x"),
            (0o102_644, "-rw-r-Sr--"),
            (0o041_777, "drwxrwxrwt"),
            (0o041_776, "drwxrwxrwT"),
            (0o120_777, "lrwxrwxrwx"),
            (0o010_600, "prw-------"),
        ] {
            assert_eq!(super::mode_text(raw), text);
        }
    }

    #[test]
    fn old_times_show_the_year() {
        assert_eq!(super::date(1_000_000_000), "Sep  9  2001");
        assert_eq!(super::date(-5), "Jan  1  1970");
    }
}
