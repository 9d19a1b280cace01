//! Answers with Apple's Foundation Models: JSON lines on standard input and output.

fn main() -> anyhow::Result<()> {
    anyhow::bail!("Foundation Models need macOS 26 on Apple silicon")
}
