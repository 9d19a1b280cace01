//! Serves the scripted model, for trying it in other programs: prints its base URL and exits
//! when its standard input closes.

use anyhow::Result;
use std::io::{Read, Write};

fn main() -> Result<()> {
    let server = openagents_e2e::openai::scripted()?;
    writeln!(std::io::stdout(), "{}", server.base_url())?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
