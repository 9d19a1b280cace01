//! The context length of a model.

use super::{
    facts::MachineFacts,
    requirements::{CONTEXT_VARIABLE, Demand},
};
use crate::limits::{CONTEXT_OVERRIDES, CONTEXTS};

/// Parses [`CONTEXT_VARIABLE`]; invalid values are logged and ignored.
pub(crate) fn asked_context(asked: &str) -> Option<u32> {
    let asked = Some(asked.trim()).filter(|asked| !asked.is_empty())?;
    let tokens = asked.parse().ok().filter(|tokens| CONTEXT_OVERRIDES.contains(tokens));
    if tokens.is_none() {
        tracing::warn!("{CONTEXT_VARIABLE} is {asked:?}; use a number of tokens from 256 to 1048576");
    }
    tokens
}

/// Returns the largest context that fits into memory along with the model, up to the trained length, or the smallest
/// one if none fits. `asked` takes precedence: see [`asked_context`].
pub(crate) fn context_tokens(demand: &Demand, machine: &MachineFacts, asked: Option<u32>) -> u32 {
    if let Some(asked) = asked {
        return asked;
    }
    let trained = demand.context_length.and_then(|tokens| u32::try_from(tokens).ok()).unwrap_or(u32::MAX);
    let room = demand.room(machine);
    let fits = |tokens: &u32| demand.cache_bytes_per_token.saturating_mul(u64::from(*tokens)) <= room;
    let sizes = CONTEXTS.map(|tokens| tokens.min(trained).max(1));
    sizes.iter().copied().find(fits).unwrap_or(sizes[CONTEXTS.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(gpt_oss_20b: bool, file_bytes: u64, context_length: u64) -> Demand {
        Demand {
            gpt_oss_20b,
            file_bytes,
            cache_bytes_per_token: 48 << 10,
            context_length: Some(context_length),
        }
    }

    #[test]
    fn the_largest_context_that_fits_is_taken() {
        const GIB: u64 = 1 << 30;
        let gpt_oss = demand(true, 12_109_566_624, 131_072);
        let small = demand(false, GIB, 8_192);
        let rows = [
            ("a GPU with room", gpt_oss, 64 * GIB, Some(48 * GIB), 32_768),
            ("a Mac of 24 GB", gpt_oss, 20 * GIB, Some(16 * GIB), 32_768),
            ("a GPU with little room", gpt_oss, 20 * GIB, Some(12_109_566_624 + GIB + (400 << 20)), 8_192),
            ("a GPU without room", gpt_oss, 20 * GIB, Some(GIB), 2_048),
            ("the CPU", gpt_oss, 4 * GIB, None, 32_768),
            ("a model of few tokens", small, 64 * GIB, None, 8_192),
            ("a model of very few tokens", demand(false, GIB, 1_000), 64 * GIB, None, 1_000),
            ("little free memory", small, 2 * GIB + (200 << 20), None, 4_096),
        ];
        for (row, demand, memory_free, device_memory, expected) in rows {
            let machine = MachineFacts { memory_total: 64 * GIB, memory_free, device_memory };
            assert_eq!(context_tokens(&demand, &machine, None), expected, "{row}");
        }
    }

    #[test]
    fn the_context_can_be_overridden() {
        let machine = MachineFacts { memory_total: 1 << 36, memory_free: 1 << 36, device_memory: None };
        let small = demand(false, 1 << 30, 8_192);
        assert_eq!(context_tokens(&small, &machine, Some(512)), 512);
        let rows = [("512", Some(512)), (" 16384 ", Some(16_384)), ("", None), ("many", None), ("0", None)];
        for (asked, expected) in rows {
            assert_eq!(asked_context(asked), expected, "{asked:?}");
        }
    }
}
