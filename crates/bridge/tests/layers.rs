//! Checks the modules of this crate against the table of layers at the top of `lib.rs`.

#[test]
fn modules_keep_to_their_layers() -> anyhow::Result<()> {
    openagents_layers::check(env!("CARGO_MANIFEST_DIR"))
}
