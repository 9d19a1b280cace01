//! A context with its cache: computes prompts and samples tokens.

use crate::limits::{FIRST_CHUNK, LEAST_CHUNK, LONG_CHUNK, MOST_CHUNK, SHORT_CHUNK};
use llama_cpp_2::{
    context::LlamaContext, llama_batch::LlamaBatch, sampling::LlamaSampler, token::LlamaToken,
};
use openagents_core::{CancellationToken, model::ModelError};
use std::time::{Duration, Instant};

const SEQUENCE: i32 = 0;

#[derive(Debug)]
pub(crate) struct Session<'m> {
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    computed: Vec<LlamaToken>,
    chunk: PrefillChunk,
}

impl<'m> Session<'m> {
    pub(crate) fn new(context: LlamaContext<'m>) -> Self {
        // A batch larger than the context's fails an assertion, which ends the process.
        let chunk = PrefillChunk::new(context.n_batch() as usize);
        Self { batch: LlamaBatch::new(chunk.max(), 1), computed: Vec::new(), chunk, context }
    }

    /// Uses a fixed chunk size, since llama.cpp rounds differently with smaller batches.
    #[cfg(test)]
    pub(crate) fn fix_chunk_size(&mut self) {
        self.chunk = PrefillChunk::new(64);
    }

    /// Returns the size of the context in tokens, prompt and answer.
    pub(crate) fn context_tokens(&self) -> u32 {
        self.context.n_ctx()
    }

    pub(crate) fn room(&self) -> u32 {
        self.context_tokens().saturating_sub(u32::try_from(self.computed.len()).unwrap_or(u32::MAX))
    }

    /// Computes a prompt; returns how many of its tokens were cached. Reports progress (0.0 to 1.0) before each chunk.
    pub(crate) fn compute_prompt(
        &mut self,
        prompt: &[LlamaToken],
        cancel: &CancellationToken,
        mut on_progress: impl FnMut(f32) -> Result<(), ModelError>,
    ) -> Result<usize, ModelError> {
        let needed = u32::try_from(prompt.len()).unwrap_or(u32::MAX);
        if needed >= self.context_tokens() {
            return Err(ModelError::ContextOverflow { needed, context: self.context_tokens() });
        }
        let remembered = self.truncate_cache(prompt);
        let reports_progress = prompt.len() - remembered > self.chunk.size();
        while self.computed.len() < prompt.len() {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            if reports_progress {
                on_progress(self.computed.len() as f32 / prompt.len() as f32)?;
            }
            let from = self.computed.len();
            let to = prompt.len().min(from + self.chunk.size());
            let began = Instant::now();
            self.compute(&prompt[from..to], to == prompt.len())?;
            self.chunk.learn(to - from, began.elapsed());
        }
        Ok(remembered)
    }

    /// Returns the logits of the token after the last computed one.
    #[cfg(test)]
    pub(crate) fn logits(&self) -> &[f32] {
        self.context.get_logits_ith(-1)
    }

    pub(crate) fn sample(&self, sampler: &mut LlamaSampler) -> LlamaToken {
        sampler.sample(&self.context, -1)
    }

    pub(crate) fn append(&mut self, token: LlamaToken) -> Result<(), ModelError> {
        self.compute(&[token], true)
    }

    /// Drops cached tokens that differ from `prompt` and returns how many are kept.
    fn truncate_cache(&mut self, prompt: &[LlamaToken]) -> usize {
        let oldest = u32::try_from(self.context.kv_cache_seq_pos_min(SEQUENCE)).ok();
        let keep = reusable(&self.computed, prompt, oldest);
        let cut = u32::try_from(keep).ok();
        // The cache of a model with a recurrent state can't be truncated; everything is computed again.
        if keep > 0 && self.context.kv_cache_seq_rm(SEQUENCE, cut, None).is_ok() {
            self.computed.truncate(keep);
            return keep;
        }
        self.forget();
        0
    }

    fn forget(&mut self) {
        self.context.clear_kv_cache();
        self.computed.clear();
    }

    /// Computes tokens; requests the logits of the last one if `ask` is true.
    fn compute(&mut self, tokens: &[LlamaToken], ask: bool) -> Result<(), ModelError> {
        // After a failure an unknown part of them is in the cache.
        self.decode(tokens, ask).inspect_err(|_| self.forget())?;
        self.computed.extend_from_slice(tokens);
        Ok(())
    }

    fn decode(&mut self, tokens: &[LlamaToken], ask: bool) -> Result<(), ModelError> {
        self.batch.clear();
        for (index, token) in tokens.iter().enumerate() {
            let last = index + 1 == tokens.len();
            let position = i32::try_from(self.computed.len() + index).unwrap_or(i32::MAX);
            let added = self.batch.add(*token, position, &[SEQUENCE], ask && last);
            added.map_err(|error| ModelError::Failed(format!("cannot create a batch: {error}")))?;
        }
        let computed = self.context.decode(&mut self.batch);
        computed.map_err(|error| ModelError::Failed(format!("the computation failed: {error}; try again")))
    }
}

/// The number of prompt tokens computed between two cancellation checks.
#[derive(Debug)]
pub(crate) struct PrefillChunk {
    size: usize,
    max: usize,
}

impl PrefillChunk {
    /// Creates a chunk size of at most `batch` tokens.
    pub(crate) fn new(batch: usize) -> Self {
        let max = batch.clamp(1, MOST_CHUNK);
        Self { size: FIRST_CHUNK.min(max), max }
    }

    pub(crate) fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn max(&self) -> usize {
        self.max
    }

    /// Adapts the size to the time that a chunk took.
    pub(crate) fn learn(&mut self, tokens: usize, time: Duration) {
        if tokens != self.size {
            // The last chunk of a prompt is shorter.
            return;
        }
        if time > LONG_CHUNK {
            self.size = (self.size / 2).max(LEAST_CHUNK.min(self.max));
        } else if time < SHORT_CHUNK {
            self.size = (self.size * 2).min(self.max);
        }
    }
}

/// Returns how many tokens of `prompt` can be reused from a cache that holds `cached`.
///
/// At least one token has to be computed, since the next one is sampled from its logits. `oldest` is the smallest
/// position in the cache, `None` if it is empty: layers with a sliding window may have dropped the beginning, and
/// truncating the cache before that point gives wrong answers without an error.
pub(crate) fn reusable<T: PartialEq>(cached: &[T], prompt: &[T], oldest: Option<u32>) -> usize {
    if oldest != Some(0) {
        return 0;
    }
    let common = cached.iter().zip(prompt).take_while(|(cached, new)| cached == new).count();
    common.min(prompt.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chunk size after a long prompt in which a chunk takes `each` ms plus `token` ms per token.
    fn settled(batch: usize, each: f64, token: f64) -> usize {
        let mut chunk = PrefillChunk::new(batch);
        for _ in 0..20 {
            let time = each + token * chunk.size() as f64;
            chunk.learn(chunk.size(), Duration::from_secs_f64(time / 1e3));
        }
        chunk.size()
    }

    #[test]
    fn chunk_size_adapts_to_speed() {
        let rows = [
            ("a fast machine", 512, 1.0, 0.01, 256),
            ("a fast machine with small batches", 100, 1.0, 0.01, 100),
            ("a very small batch", 1, 1.0, 0.01, 1),
            ("smaller chunks would only be slower", 512, 0.0, 7.0, 64),
            ("a cancel has to be noticed", 512, 0.0, 20.0, 32),
            ("weights are read for each chunk", 512, 600.0, 20.0, 16),
            ("nothing helps", 512, 5000.0, 0.0, 8),
        ];
        for (row, batch, each, token, expected) in rows {
            assert_eq!(settled(batch, each, token), expected, "{row}");
        }
    }

    #[test]
    fn chunk_size_ignores_last_chunk() {
        let mut chunk = PrefillChunk::new(512);
        chunk.learn(3, Duration::from_secs(9));
        assert_eq!(chunk.size(), 64);
    }

    #[test]
    fn reusable_keeps_common_prefix() {
        type Row = (&'static [i32], &'static [i32], Option<u32>, usize);
        let rows: [Row; 8] = [
            (&[], &[1, 2], None, 0),
            (&[1, 2, 3], &[1, 2, 4, 5], Some(0), 2),
            (&[1, 2, 3], &[1, 2, 3, 4], Some(0), 3),
            (&[1, 2, 3], &[1, 2, 3], Some(0), 2),
            (&[1, 2, 3], &[1, 2], Some(0), 1),
            (&[1, 2, 3], &[7], Some(0), 0),
            (&[1, 2, 3], &[], Some(0), 0),
            // The window has moved on.
            (&[1, 2, 3], &[1, 2, 3, 4], Some(1), 0),
        ];
        for (cached, prompt, oldest, expected) in rows {
            assert_eq!(reusable(cached, prompt, oldest), expected, "{cached:?} {prompt:?} {oldest:?}");
        }
    }
}
