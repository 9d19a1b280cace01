//! A context and what it remembers: reads prompts, samples tokens.

use crate::{pace::Pace, prefix};
use llama_cpp_2::{
    context::LlamaContext, llama_batch::LlamaBatch, sampling::LlamaSampler, token::LlamaToken,
};
use openagents_core::{CancellationToken, model::ModelError};
use std::time::Instant;

/// The only sequence.
const SEQUENCE: i32 = 0;

/// See the module.
#[derive(Debug)]
pub(crate) struct Session<'m> {
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    /// The tokens that the context has computed, prompt and answer.
    computed: Vec<LlamaToken>,
    pace: Pace,
}

impl<'m> Session<'m> {
    /// Takes a fresh context.
    pub(crate) fn new(context: LlamaContext<'m>) -> Self {
        // A batch larger than the context's would be an assertion, and so the end of the process.
        let pace = Pace::new(context.n_batch() as usize);
        Self { batch: LlamaBatch::new(pace.most(), 1), computed: Vec::new(), pace, context }
    }

    /// Computes in the same steps whatever time they take: llama.cpp rounds smaller batches in another way.
    #[cfg(test)]
    pub(crate) fn keep_pace(&mut self) {
        self.pace = Pace::new(64);
    }

    /// Returns how many tokens fit, prompt and answer.
    pub(crate) fn context_tokens(&self) -> u32 {
        self.context.n_ctx()
    }

    /// Returns how many more tokens fit.
    pub(crate) fn room(&self) -> u32 {
        self.context_tokens().saturating_sub(u32::try_from(self.computed.len()).unwrap_or(u32::MAX))
    }

    /// Reads a prompt and returns how many of its tokens were remembered. Tells the share that was read, 0.0 to 1.0,
    /// before each piece when there is more than one.
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
        let remembered = self.go_back_to(prompt);
        let told = prompt.len() - remembered > self.pace.piece();
        while self.computed.len() < prompt.len() {
            if cancel.is_cancelled() {
                return Err(ModelError::Cancelled);
            }
            if told {
                on_progress(self.computed.len() as f32 / prompt.len() as f32)?;
            }
            let from = self.computed.len();
            let to = prompt.len().min(from + self.pace.piece());
            let began = Instant::now();
            self.compute(&prompt[from..to], to == prompt.len())?;
            self.pace.learn(to - from, began.elapsed());
        }
        Ok(remembered)
    }

    /// Returns how likely each token is to follow what was computed last.
    #[cfg(test)]
    pub(crate) fn logits(&self) -> &[f32] {
        self.context.get_logits_ith(-1)
    }

    /// Chooses the token that follows what was computed last.
    pub(crate) fn sample(&self, sampler: &mut LlamaSampler) -> LlamaToken {
        sampler.sample(&self.context, -1)
    }

    /// Computes one more token of the answer.
    pub(crate) fn append(&mut self, token: LlamaToken) -> Result<(), ModelError> {
        self.compute(&[token], true)
    }

    /// Forgets what does not belong to `prompt` and returns how many of its tokens are left.
    fn go_back_to(&mut self, prompt: &[LlamaToken]) -> usize {
        let oldest = u32::try_from(self.context.kv_cache_seq_pos_min(SEQUENCE)).ok();
        let keep = prefix::keep(&self.computed, prompt, oldest);
        let cut = u32::try_from(keep).ok();
        // Models that keep a running state cannot go back at all: they read everything again.
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

    /// Computes tokens; the last of them asks for what follows it when `ask`.
    fn compute(&mut self, tokens: &[LlamaToken], ask: bool) -> Result<(), ModelError> {
        let from = self.computed.len();
        self.batch.clear();
        let mut computed = Ok(());
        for (index, token) in tokens.iter().enumerate() {
            let last = index + 1 == tokens.len();
            let position = i32::try_from(from + index).unwrap_or(i32::MAX);
            computed = computed.and_then(|()| {
                self.batch
                    .add(*token, position, &[SEQUENCE], ask && last)
                    .map_err(|error| ModelError::Failed(format!("a batch could not be made: {error}")))
            });
        }
        computed = computed.and_then(|()| {
            self.context.decode(&mut self.batch).map_err(|error| {
                ModelError::Failed(format!("the model could not compute: {error}; try again"))
            })
        });
        match computed {
            Ok(()) => self.computed.extend_from_slice(tokens),
            // Nobody knows how much of it is in the cache.
            Err(_) => self.forget(),
        }
        computed
    }
}
