//! Questions to the user at the terminal.

use crate::output;
use std::io::{IsTerminal, Write};

/// Asks a yes-or-no question. Fails if standard input is not a terminal; `flag` is the hint in the error.
pub(crate) fn ask(question: &str, flag: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(output::Usage(format!("cannot ask: standard input is not a terminal; {flag}")).into());
    }
    put(question)?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

/// Prints a question; the answer is typed on the same line. Input typed before the question is discarded.
pub(crate) fn put(question: &str) -> std::io::Result<()> {
    #[cfg(unix)]
    if let Err(error) = rustix::termios::tcflush(std::io::stdin(), rustix::termios::QueueSelector::IFlush) {
        tracing::debug!(%error, "could not discard what was typed");
    }
    let mut err = anstream::stderr();
    write!(err, "{question} [y/N] ")?;
    err.flush()
}

pub(crate) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
