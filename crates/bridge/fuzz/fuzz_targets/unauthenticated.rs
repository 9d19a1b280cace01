//! Whatever somebody without a token says is judged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use openagents_bridge::fuzzing;

fuzz_target!(|data: &[u8]| fuzzing::unauthenticated(data));
