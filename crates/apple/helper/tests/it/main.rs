//! The real helper program on this machine, and the protocol with a scripted backend.

mod answers;
mod orphan;
mod program;
#[cfg(test)]
mod support;
