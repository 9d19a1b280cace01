//! Finds the end of the tensor data.

use super::{bounded::Bounded, error::Fault};
use crate::limits::TENSORS;
use std::io::Read;

/// Maximum dimensions of a tensor, as in ggml.
const DIMENSIONS: u32 = 4;

/// Reads the tensor list and returns the size of the tensor data in bytes.
pub(super) fn data_bytes<R: Read>(input: &mut Bounded<R>, tensors: u64) -> Result<u64, Fault> {
    const ENDLESS: Fault = Fault::Malformed("a tensor has no end");
    if tensors > TENSORS {
        return Err(Fault::Malformed("it has too many tensors"));
    }
    let mut end = 0;
    for _ in 0..tensors {
        input.skip_string()?;
        let dimensions = input.u32()?;
        if dimensions > DIMENSIONS {
            return Err(Fault::Malformed("a tensor has more than 4 dimensions"));
        }
        let mut values = 1_u64;
        for _ in 0..dimensions {
            values = values.checked_mul(input.u64()?).ok_or(ENDLESS)?;
        }
        let kind = input.u32()?;
        let offset = input.u64()?;
        let bytes = match block(kind) {
            Some((block_values, block_bytes)) => {
                values.div_ceil(block_values).checked_mul(block_bytes).ok_or(ENDLESS)?
            }
            // A type of a newer llama.cpp: its size is unknown, only its offset counts.
            None => 0,
        };
        end = end.max(offset.checked_add(bytes).ok_or(ENDLESS)?);
    }
    Ok(end)
}

/// Elements and bytes per block, by `ggml_type`; from the sizes asserted in ggml's `ggml-common.h`.
fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        2 | 20 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        9 => (32, 36),
        10 => (256, 84),
        11 | 21 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        15 => (256, 292),
        16 | 35 => (256, 66),
        17 => (256, 74),
        18 => (256, 98),
        19 => (256, 50),
        22 => (256, 82),
        23 => (256, 136),
        24 => (1, 1),
        27 | 28 => (1, 8),
        29 => (256, 56),
        34 => (256, 54),
        39 => (32, 17),
        40 => (64, 36),
        41 => (128, 18),
        42 => (64, 18),
        _ => return None,
    })
}
