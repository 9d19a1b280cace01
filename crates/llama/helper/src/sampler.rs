//! Selection of the next token.

use crate::limits::{RETRY_TEMPERATURE, TOP_K};
use llama_cpp_2::sampling::LlamaSampler;
use openagents_core::model::ModelOptions;

/// Returns the sampler for an attempt; attempts are numbered from 0.
pub(crate) fn sampler(options: &ModelOptions, attempt: u32) -> LlamaSampler {
    let temperature =
        if attempt == 0 { options.temperature } else { options.temperature.max(RETRY_TEMPERATURE) };
    // A chain would keep its list of candidates from token to token.
    if temperature.is_nan() || temperature <= 0.0 {
        return LlamaSampler::chain([LlamaSampler::greedy()], true);
    }
    let seed = options.seed.unwrap_or_else(random).wrapping_add(attempt);
    let chain = [
        LlamaSampler::top_k(TOP_K),
        LlamaSampler::top_p(options.top_p, 1),
        LlamaSampler::temp(temperature),
        LlamaSampler::dist(seed),
    ];
    LlamaSampler::chain(chain, true)
}

fn random() -> u32 {
    let bytes = uuid::Uuid::new_v4().into_bytes();
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
