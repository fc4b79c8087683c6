//! See `bootstrap::testing::preflight`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bootstrap::testing::preflight(data));
