//! Makes the page a dependency of this crate: its files are embedded, and their names change with each build.

fn main() {
    // Set by cargo-fuzz.
    println!("cargo::rustc-check-cfg=cfg(fuzzing)");
    let page = std::path::Path::new("../../ui/dist");
    // Watching a folder that is not there would mean compiling this crate again every time. Where it cannot be
    // made, that is the price.
    let _ = std::fs::create_dir_all(page);
    println!("cargo:rerun-if-changed={}", page.display());
    println!("cargo:rerun-if-changed=build.rs");
}
