//! Holds the modules of this crate to the table of layers at the head of its root file.

#[test]
fn modules_keep_to_their_layers_and_files_import_without_circles() -> anyhow::Result<()> {
    openagents_layers::check(env!("CARGO_MANIFEST_DIR"))
}
