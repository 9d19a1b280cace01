//! The table of layers: `| layer | module | contents |` rows in the crate's documentation.

use crate::source::File;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Layers = BTreeMap<String, u32>;

/// Reads the rows from the crate's documentation.
pub(crate) fn layers(root: &str) -> Layers {
    let cells = root.lines().filter_map(|line| line.strip_prefix("//! |").map(|row| row.split('|')));
    let row = |mut cells: std::str::Split<'_, char>| {
        let layer = cells.next()?.trim().parse().ok()?;
        Some((cells.next()?.trim().trim_matches('`').to_owned(), layer))
    };
    cells.filter_map(row).collect()
}

/// Returns one line for each module that only the table or only the source folder has.
pub(crate) fn faults(layers: &Layers, files: &[File]) -> Vec<String> {
    let there: BTreeSet<&String> = files.iter().filter_map(|file| file.module.first()).collect();
    let listed: BTreeSet<&String> = layers.keys().collect();
    let missing = there.difference(&listed).map(|module| format!("{module} is not in the table of layers"));
    let gone = listed.difference(&there).map(|module| format!("{module} is in the table and does not exist"));
    missing.chain(gone).collect()
}

/// Returns one line for each module that a file uses and that is not in a lower layer. The
/// crate root may use all modules.
pub(crate) fn upward(file: &File, layers: &Layers) -> Vec<String> {
    let Some((own, here)) = file.module.first().and_then(|own| layers.get_key_value(own)) else {
        return Vec::new();
    };
    let used: BTreeSet<&String> = file.imports.iter().filter_map(|import| import.first()).collect();
    let fault = |module: &&String| {
        let there = layers.get(*module).filter(|there| *module != own && *there >= here)?;
        Some(format!("{}: {own} ({here}) uses {module} ({there}), which is not below it", file.name()))
    };
    used.iter().filter_map(fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const TABLE: &str =
        "//! | 1 | `ground` | a |\n//! | 2 | `house` | b |\n//! | 2 | `shed` | c |\n//! | 3 | `roof` | d |\n";

    #[test]
    fn planted_upward_import_is_found() {
        for (path, text, expected) in [
            ("house.rs", "use crate::ground::Stone;", ""),
            ("house.rs", "use crate::{Token, ground::{self, Stone}, house::Door};", ""),
            ("house.rs", "use crate::roof::Tile;", "house (2) uses roof (3)"),
            ("house.rs", "use crate::shed::Key;", "house (2) uses shed (2)"),
            ("house/door.rs", "use super::super::{ground::Stone, roof};", "uses roof (3)"),
            ("house/door.rs", "use super::roof;", ""),
            ("lib.rs", "use roof::Tile;", ""),
        ] {
            let file = File::parse(Path::new(path), text).unwrap();
            let found = upward(&file, &layers(TABLE)).join("\n");
            assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found}");
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn table_names_existing_modules() {
        let files = ["ground.rs", "house/mod.rs", "house/door.rs", "cellar.rs"];
        let files = files.map(|path| File::parse(Path::new(path), "").unwrap());
        assert_eq!(
            faults(&layers(TABLE), &files),
            [
                "cellar is not in the table of layers",
                "roof is in the table and does not exist",
                "shed is in the table and does not exist"
            ]
        );
    }
}
