//! See `transport::testing::promises::ssh_config`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| transport::testing::promises::ssh_config(data));
