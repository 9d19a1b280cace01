//! Any frame on the ACP endpoint is parsed or answered with an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use openagents_bridge::fuzzing;

fuzz_target!(|data: &[u8]| fuzzing::acp_frame(data));
