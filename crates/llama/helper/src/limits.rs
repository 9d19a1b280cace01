//! The limits and intervals of this crate, with their units and reasons.

use std::time::Duration;

/// Maximum number of reports queued for the client; the model pauses when it is reached.
pub(crate) const QUEUED_REPORTS: usize = 64;

/// Time for the program to exit by itself after its input is closed. Then it is terminated, as it may be in a long
/// computation.
pub(crate) const EXIT: Duration = Duration::from_millis(500);

pub(crate) const ATTEMPTS: u32 = 2;

pub(crate) const SPEED: Duration = Duration::from_millis(250);

/// Number of layers to offload to a GPU, if there is one: all layers of any model.
pub(crate) const ALL_LAYERS: u32 = 999;

/// Tokens per batch. The default of llama.cpp; fewer are slower on a GPU.
pub(crate) const BATCH: u32 = 512;

/// Compute threads; the maximum of llama.cpp (`GGML_MAX_N_THREADS`).
pub(crate) const MOST_THREADS: u32 = 512;

/// Initial number of prompt tokens computed between two cancellation checks. On a CPU, 64 are as fast as 512, and 16
/// are a sixth slower (llama-bench on SmolLM2, one thread).
pub(crate) const FIRST_CHUNK: usize = 64;
pub(crate) const LEAST_CHUNK: usize = 8;
pub(crate) const MOST_CHUNK: usize = 256;
/// Chunks that take less time grow: a GPU needs larger ones.
pub(crate) const SHORT_CHUNK: Duration = Duration::from_millis(25);
/// Chunks that take longer shrink: a cancellation is noticed between two chunks.
pub(crate) const LONG_CHUNK: Duration = Duration::from_secs(1);

/// Number of candidates for a token, as in llama-server. It also keeps the rest of the chain cheap.
pub(crate) const TOP_K: i32 = 40;

/// Minimum temperature of a retry after a malformed answer: a lower one would likely repeat the answer.
pub(crate) const RETRY_TEMPERATURE: f32 = 0.5;
