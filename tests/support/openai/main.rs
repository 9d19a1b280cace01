//! Serves the scripted model, to try it in other programs: prints its base URL and ends with its standard input.

use anyhow::Result;
use std::io::{Read, Write};

fn main() -> Result<()> {
    let server = openagents_e2e::openai::scripted()?;
    writeln!(std::io::stdout(), "{}", server.base_url())?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
