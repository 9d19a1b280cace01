//! A context with its cache: computes prompts and samples tokens.

use crate::{prefill_chunk::PrefillChunk, prefix};
use llama_cpp_2::{
    context::LlamaContext, llama_batch::LlamaBatch, sampling::LlamaSampler, token::LlamaToken,
};
use openagents_core::{CancellationToken, model::ModelError};
use std::time::Instant;

/// The id of the only sequence.
const SEQUENCE: i32 = 0;

#[derive(Debug)]
pub(crate) struct Session<'m> {
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    /// The tokens in the cache, prompt and answer.
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
    pub(crate) fn read(
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
        let told = prompt.len() - remembered > self.chunk.size();
        while self.computed.len() < prompt.len() {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            if told {
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
        let keep = prefix::keep(&self.computed, prompt, oldest);
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
