//! The limits and intervals of this crate, with their units and reasons.

use openagents_core::helper::HelperLimits;
use std::{ops::RangeInclusive, time::Duration};

/// Maximum bytes of a line between client and helper. A conversation that fills the largest context has about 1 MB.
pub const MAX_LINE: usize = 32 << 20;

pub(crate) const HELPER: HelperLimits = HelperLimits {
    line_bytes: MAX_LINE,
    queued_reports: 64,
    // The graphics driver may have to compile shaders first.
    hello: Duration::from_secs(60),
    // On a busy machine the first part of a prompt takes seconds, and killing the helper loses the model.
    cancel: Some(Duration::from_secs(10)),
};

/// Maximum bytes of a GGUF header. Models with 200,000 tokens and their merges have about 15 MiB.
pub(crate) const HEADER_BYTES: u64 = 64 << 20;
/// Maximum number of key-value pairs in the header of a GGUF file; models have about 40.
pub(crate) const HEADER_PAIRS: u64 = 65_536;
/// Maximum bytes of a key, as specified.
pub(crate) const HEADER_KEY: u64 = 65_535;
/// Maximum bytes of a text that is kept, mainly chat templates.
pub(crate) const HEADER_TEXT: u64 = 1 << 20;
/// Maximum numbers of an array that is kept: one per layer.
pub(crate) const HEADER_NUMBERS: u64 = 4_096;
pub(crate) const HEADER_DEPTH: u32 = 4;
/// Maximum number of tensors; gpt-oss-20b has 459.
pub(crate) const TENSORS: u64 = 65_536;

/// Maximum steps of rendering a template; a thousand messages need about a hundred thousand.
pub(crate) const TEMPLATE_STEPS: u64 = 5_000_000;
pub(crate) const TEMPLATE_DEPTH: usize = 64;
/// Maximum bytes of a template; those in use have up to 20 KB.
pub(crate) const TEMPLATE_BYTES: usize = 256 << 10;
/// Maximum bytes of a prompt with its placeholders; memory used by a template is bounded by its process.
pub(crate) const PROMPT_BYTES: usize = 16 << 20;

/// Maximum bytes of a call or its arguments in an answer.
pub(crate) const CALL_BYTES: usize = 1 << 20;
/// Bytes kept of arguments that cannot be parsed: they are part of the next prompt, so that the model sees its mistake.
pub(crate) const BROKEN_CALL_BYTES: usize = 8 << 10;
/// Maximum nesting of arguments; deeper ones can't be passed on.
pub(crate) const ARGUMENTS_DEPTH: usize = 64;
/// Maximum bytes held back until it is clear whether they are reasoning.
pub(crate) const UNDECIDED_BYTES: usize = 32 << 10;
/// Maximum nesting of a type in the prompt; deeper types and circular references are `any`.
pub(crate) const TYPE_DEPTH: usize = 16;
/// Maximum bytes of a type; the rest is `any`.
pub(crate) const TYPE_BYTES: usize = 64 << 10;
/// Maximum bytes tokenized at once: a long run of one class of characters takes quadratic time or panics.
pub(crate) const TOKENIZED_BYTES: usize = 4 << 10;

/// Context lengths in tokens, tried from largest to smallest.
pub(crate) const CONTEXTS: [u32; 5] = [32_768, 16_384, 8_192, 4_096, 2_048];
/// Context lengths in tokens that the user may request.
pub(crate) const CONTEXT_OVERRIDES: RangeInclusive<u32> = 256..=1 << 20;
/// Bytes of compute buffers, about 0.4 GiB at 512 tokens per batch, and of the program itself.
pub(crate) const SCRATCH: u64 = 1 << 30;
/// Bytes of disk left free by a download.
pub(crate) const DISK_MARGIN: u64 = 1 << 30;

pub(crate) const FILES: usize = 1_000;
pub(crate) const NAME_CHARS: usize = 80;
pub(crate) const MANIFEST_BYTES: u64 = 64 << 10;
/// Bytes read at once to verify a file: a stop takes effect in between.
pub(crate) const VERIFY_PIECE: usize = 1 << 20;
pub(crate) const PROGRESS: Duration = Duration::from_millis(250);
/// Time window for the average speed of a download.
pub(crate) const SPEED_WINDOW: Duration = Duration::from_secs(5);
pub(crate) const RESPONSE_BYTES: usize = 4 << 20;
/// Time without data after which a connection is considered dead.
pub(crate) const SILENCE: Duration = Duration::from_secs(30);
pub(crate) const REDIRECTS: usize = 10;

pub(crate) const REST_CHECK: Duration = Duration::from_secs(15);
/// Idle time before critical memory pressure unloads a model, since a model that has just answered is likely to be used
/// again.
pub(crate) const REST_GRACE: Duration = Duration::from_secs(15);
/// The same for a warning, which the system can cope with: loading a large model again takes longer than most pauses.
pub(crate) const REST_WARNED: Duration = Duration::from_secs(120);
pub(crate) const CANCEL_CHECK: Duration = Duration::from_millis(25);
pub(crate) const SHUTDOWN: Duration = Duration::from_secs(2);
