//! `Host`, `Origin` and pairing codes of unauthenticated clients are parsed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use openagents_bridge::fuzzing;

fuzz_target!(|data: &[u8]| fuzzing::unauthenticated(data));
