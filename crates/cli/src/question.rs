//! Questions to the person at the terminal.

use crate::output;
use std::io::{IsTerminal, Write};

/// Asks a person; without one, says which flag answers.
pub(crate) fn ask(question: &str, flag: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(output::Usage(format!("there is nobody to ask here; {flag}")).into());
    }
    put(question)?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

/// Writes a question where the answer can be typed behind it.
pub(crate) fn put(question: &str) -> std::io::Result<()> {
    let mut err = anstream::stderr();
    write!(err, "{question} [y/N] ")?;
    err.flush()
}

pub(crate) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
