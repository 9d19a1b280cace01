//! The `openagents` command.

fn main() {}
