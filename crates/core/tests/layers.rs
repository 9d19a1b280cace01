//! Checks the modules of this crate against the table of layers in `lib.rs`.

#[test]
fn modules_keep_to_their_layers_and_files_import_without_circles() -> anyhow::Result<()> {
    openagents_layers::check(env!("CARGO_MANIFEST_DIR"))
}
