//! The helper program that runs a model. See `openagents_llama`.

fn main() -> anyhow::Result<()> {
    Ok(())
}
