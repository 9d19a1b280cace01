//! Writes a scripted gpt-oss, for trying it in other programs: `scripted-gptoss OUT.gguf [SCRIPT]`.

use anyhow::{Context, Result};
use openagents_e2e::gptoss::{self, Script};
use std::path::Path;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("usage: scripted-gptoss OUT.gguf [SCRIPT]")?;
    let name = arguments.next().unwrap_or_else(|| "weather".to_owned());
    let script = Script::named(&name)
        .with_context(|| format!("there is no script {name}; there are {}", Script::NAMES.join(", ")))?;
    gptoss::write_model(Path::new(&path), &script)
}
