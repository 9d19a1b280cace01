//! The limits and intervals of this crate, with their units and reasons.

use std::time::Duration;

/// Reports queued for the client after which the model pauses.
pub(crate) const QUEUED_REPORTS: usize = 64;

/// Time to exit by itself after its input was closed; then it is terminated, as it may be in a long computation.
pub(crate) const EXIT: Duration = Duration::from_millis(500);

/// Attempts to get a well-formed answer.
pub(crate) const ATTEMPTS: u32 = 2;

/// Interval of reports on the speed of an answer.
pub(crate) const SPEED: Duration = Duration::from_millis(250);

/// Layers to offload to a graphics processor, if there is one: all of any model.
pub(crate) const ALL_LAYERS: u32 = 999;

/// Tokens per batch. The default of llama.cpp; less is slower on a graphics processor.
pub(crate) const BATCH: u32 = 512;

/// Compute threads; the maximum of llama.cpp (`GGML_MAX_N_THREADS`).
pub(crate) const MOST_THREADS: u32 = 512;

/// Tokens of a prompt computed between two checks for a cancel, at first. On a CPU 64 are as fast as 512, and 16 are a
/// sixth slower (llama-bench on SmolLM2, one thread).
pub(crate) const FIRST_CHUNK: usize = 64;
/// Its minimum.
pub(crate) const LEAST_CHUNK: usize = 8;
/// Its maximum.
pub(crate) const MOST_CHUNK: usize = 256;
/// Chunks that take less time grow: a graphics processor needs larger ones.
pub(crate) const SHORT_CHUNK: Duration = Duration::from_millis(25);
/// Chunks that take longer shrink: a cancel is noticed between two chunks.
pub(crate) const LONG_CHUNK: Duration = Duration::from_secs(1);

/// Number of candidates for a token. As in llama-server; it also keeps the rest of the chain cheap.
pub(crate) const TOP_K: i32 = 40;

/// Minimum temperature of a retry after a malformed answer: a lower one would likely repeat the answer.
pub(crate) const RETRY_TEMPERATURE: f32 = 0.5;
