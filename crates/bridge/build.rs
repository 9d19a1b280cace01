//! Makes the page a dependency of this crate: its files are embedded, and their names change with each build.

fn main() {
    // Set by cargo-fuzz.
    println!("cargo::rustc-check-cfg=cfg(fuzzing)");
    let page = std::path::Path::new("../../ui/dist");
    // Cargo recompiles this crate on every build if a watched folder is missing. If the folder cannot be created, we
    // accept that.
    let _ = std::fs::create_dir_all(page);
    println!("cargo:rerun-if-changed={}", page.display());
    println!("cargo:rerun-if-changed=build.rs");
}
