//! See `transport::testing::promises::known_hosts`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| transport::testing::promises::known_hosts(data));
