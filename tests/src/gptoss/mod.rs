//! A small gpt-oss that follows a test's script: the real architecture and the real vocabulary, in a GGUF file of
//! about 30 MB whose weights are wired by hand to follow a [`Script`], both greedily and at temperature 1.

mod gguf;
mod script;
mod vocabulary;
mod weights;

pub use script::Script;

use anyhow::{Context, Result};
use std::path::Path;

/// Harmony as a chat template, for programs that need one. It includes the tokens that a
/// [`Script`] searches a prompt for.
pub const CHAT_TEMPLATE: &str = include_str!("chat_template.jinja");

/// Writes a model that follows the script. Takes a second or two.
pub fn write_model(path: &Path, script: &Script) -> Result<()> {
    let vocabulary = vocabulary::Vocabulary::new()?;
    let rules = script.rules(&vocabulary)?;
    let mut gguf = gguf::Gguf::default();
    gguf.string("general.architecture", "gpt-oss");
    gguf.string("general.name", "scripted-gpt-oss");
    gguf.string("tokenizer.ggml.model", "gpt2");
    gguf.string("tokenizer.ggml.pre", "gpt-4o");
    gguf.strings("tokenizer.ggml.tokens", &vocabulary.letters()?);
    gguf.i32s("tokenizer.ggml.token_type", &vocabulary::Vocabulary::kinds());
    gguf.strings("tokenizer.ggml.merges", &vocabulary.merges()?);
    for (kind, marker) in [("bos", "<|startoftext|>"), ("eos", "<|return|>"), ("padding", "<|endoftext|>")] {
        gguf.u32(&format!("tokenizer.ggml.{kind}_token_id"), vocabulary.token(marker)?);
    }
    gguf.bool("tokenizer.ggml.add_bos_token", false);
    weights::Network::new(&rules)?.write(&mut gguf);
    gguf.save(path).with_context(|| format!("{} cannot be written", path.display()))
}
