//! The files that are compiled into the product, and their modules.

use crate::imports::{self, Import};
use anyhow::{Context, Result};
use proc_macro2::TokenStream;
use std::{
    fs,
    path::{Path, PathBuf},
};

#[derive(Debug)]
pub(crate) struct File {
    /// The modules from the crate root to this file: `["store", "writer"]`. Empty for the crate root.
    pub(crate) module: Vec<String>,
    pub(crate) imports: Vec<Import>,
}

impl File {
    /// Reads a file. `path` is relative to the source folder.
    pub(crate) fn parse(path: &Path, text: &str) -> Result<Self> {
        let stem = path.with_extension("");
        let parts = stem.iter().map(|part| part.to_string_lossy().into_owned());
        let module: Vec<String> = parts.filter(|part| !is_root(part)).collect();
        let parsed = text.parse::<TokenStream>().map_err(|error| anyhow::anyhow!("{error}"));
        let tokens = parsed.with_context(|| format!("{} cannot be read", path.display()))?;
        Ok(Self { imports: imports::find_imports(tokens, &module), module })
    }

    /// Returns the module as a path, for messages.
    pub(crate) fn name(&self) -> String {
        self.module.join("::")
    }
}

fn is_root(stem: &str) -> bool {
    matches!(stem, "mod" | "lib" | "main")
}

pub(crate) fn crate_root(source: &Path) -> Result<PathBuf> {
    let found = ["lib.rs", "main.rs"].map(|name| source.join(name)).into_iter().find(|path| path.is_file());
    found.with_context(|| format!("{} has no lib.rs and no main.rs", source.display()))
}

/// Reads the product files of a crate, without tests.
pub(crate) fn files(source: &Path) -> Result<Vec<File>> {
    let mut paths = Vec::new();
    collect(source, &mut paths)?;
    paths.sort();
    paths.iter().map(|path| File::parse(path.strip_prefix(source)?, &fs::read_to_string(path)?)).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if stem != "tests" {
                collect(&path, paths)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !matches!(stem.as_str(), "tests" | "testing" | "fuzzing")
            && !stem.ends_with("_tests")
        {
            paths.push(path);
        }
    }
    Ok(())
}
