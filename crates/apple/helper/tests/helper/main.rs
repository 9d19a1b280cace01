//! The helper program: the real one on this machine, and the protocol with a backend that follows a script.

#![cfg(unix)]

mod answers;
mod orphan;
mod program;
#[cfg(test)]
mod support;
