//! Time, in one place, so that tests can replace it and nothing else reads a clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Gives the wall-clock time in milliseconds since the Unix epoch.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the replacement the lint names")]
pub fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Gives the wall-clock time as an RFC 3339 UTC text with milliseconds, as the session log stores it.
#[must_use]
pub fn rfc3339_now() -> String {
    rfc3339(unix_millis())
}

/// Writes milliseconds since the Unix epoch as RFC 3339 in UTC with exactly three decimals.
#[must_use]
pub fn rfc3339(unix_millis: u64) -> String {
    let millis = i64::try_from(unix_millis).unwrap_or(i64::MAX);
    let stamp = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
    format!("{stamp:.3}")
}

/// Gives the monotonic time. It stops while the machine sleeps (CLOCK_MONOTONIC).
#[must_use]
#[expect(clippy::disallowed_methods, reason = "this is the replacement the lint names")]
pub fn monotonic() -> Instant {
    Instant::now()
}

/// Gives the time since boot including sleep (CLOCK_BOOTTIME); compared with [`monotonic`], a jump means a wake-up.
#[must_use]
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let spec = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    #[cfg(not(target_os = "linux"))]
    let spec = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(
        u64::try_from(spec.tv_sec).unwrap_or(0),
        u32::try_from(spec.tv_nsec).unwrap_or(0),
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn writes_rfc3339_with_millis() {
        assert_eq!(super::rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(super::rfc3339(1_790_000_000_123), "2026-09-21T14:13:20.123Z");
    }
}
