//! Any frame on the door of the iOS app: it is read, or it can be answered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use openagents_bridge::fuzzing;

fuzz_target!(|data: &[u8]| fuzzing::ios_frame(data));
