//! Holds the modules of this crate to the table of layers at the head of `lib.rs`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Module → layer.
type Layers = BTreeMap<String, u32>;

#[test]
fn no_module_uses_one_of_its_own_layer_or_above() {
    let layers = layers(&fs::read_to_string(source().join("lib.rs")).unwrap());
    let mut faults = Vec::new();
    for file in product_files(&source()) {
        let path = file.strip_prefix(source()).unwrap();
        if path != Path::new("lib.rs") {
            let text = fs::read_to_string(&file).unwrap();
            faults.extend(upward(path, &text, &layers));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_table_names_the_modules_that_exist() {
    let entries = fs::read_dir(source()).unwrap().map(|entry| entry.unwrap().path());
    let modules = entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    let modules: BTreeSet<_> = modules.filter(|name| name != "lib").collect();
    let table = layers(&fs::read_to_string(source().join("lib.rs")).unwrap());
    assert_eq!(table.into_keys().collect::<BTreeSet<_>>(), modules);
}

#[test]
fn a_planted_upward_import_is_found() {
    let table =
        "//! | 1 | `ground` | a |\n//! | 2 | `house` | b |\n//! | 2 | `shed` | c |\n//! | 3 | `roof` | d |\n";
    let layers = layers(table);
    let rows = [
        ("house.rs", "use crate::ground::Stone;", ""),
        ("house.rs", "use crate::{CancellationToken, ground::{self, Stone}, house::Door};", ""),
        ("house.rs", "use crate::roof::Tile;", "house.rs: house (2) uses roof (3)"),
        (
            "house/door.rs",
            "pub(crate) use crate::{ground::Stone, roof::{Tile, deep::Ridge}};",
            "uses roof (3)",
        ),
        ("house/door.rs", "fn open() -> crate::shed::Key { unlock!(crate::roof::Tile) }", "uses roof (3)"),
        ("house.rs", "use crate::shed::Key;", "uses shed (2)"),
        ("house.rs", "use super::roof::Tile;", "uses roof (3)"),
        ("house/door.rs", "use super::super::{ground::Stone, roof};", "uses roof (3)"),
        ("house/door.rs", "use super::roof;", ""),
        ("house.rs", "use crate::cellar::Wine;", "house.rs: cellar is not in the table"),
        ("house.rs", "/// Like [`crate::roof`].\nconst NOTE: &str = \"crate::roof\"; // crate::roof", ""),
        ("house.rs", "#[cfg(test)]\nmod tests { use crate::roof::Tile; }", ""),
        (
            "house.rs",
            "#[cfg(all(test, unix))]\n#[path = \"x.rs\"]\nmod tests;\nuse crate::roof;",
            "uses roof (3)",
        ),
    ];
    for (path, text, expected) in rows {
        let found = upward(Path::new(path), text, &layers).join("\n");
        assert_eq!(found.is_empty(), expected.is_empty(), "{text}: {found}");
        assert!(found.contains(expected), "{text}: {found}");
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Reads the rows `| layer | module | contents |` of the crate's documentation.
fn layers(lib: &str) -> Layers {
    let cells = lib.lines().filter_map(|line| line.strip_prefix("//! |").map(|row| row.split('|')));
    let row = |mut cells: std::str::Split<'_, char>| {
        let layer = cells.next()?.trim().parse().ok()?;
        Some((cells.next()?.trim().trim_matches('`').to_owned(), layer))
    };
    cells.filter_map(row).collect()
}

/// Returns the files that are compiled into the product.
fn product_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if path.is_dir() {
            files.extend(product_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !(stem == "tests" || stem == "testing" || stem.ends_with("_tests"))
        {
            files.push(path);
        }
    }
    files
}

/// Returns one line for each module that a file must not use. `path` is relative to the source folder.
fn upward(path: &Path, text: &str, layers: &Layers) -> Vec<String> {
    let parts: Vec<_> =
        path.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    let depth = parts.iter().filter(|part| *part != "mod").count();
    let own = &parts[0];
    let mut used = BTreeSet::new();
    collect(text.parse().unwrap(), depth, &mut used);
    used.remove(own);
    let fault = |module: &String| {
        let (here, there) = (layers.get(own)?, layers.get(module));
        let shown = path.display();
        match there {
            None => Some(format!("{shown}: {module} is not in the table")),
            Some(there) if there >= here => {
                Some(format!("{shown}: {own} ({here}) uses {module} ({there}), which is not below it"))
            }
            Some(_) => None,
        }
    };
    used.iter().filter_map(fault).collect()
}

/// Collects the top-level modules that paths from the crate root name: `crate::a`, `crate::{a, b::c}`, and `super::a`
/// where `super` is the root. Macro arguments are read as well; comments, texts and tests are not.
fn collect(tokens: TokenStream, depth: usize, used: &mut BTreeSet<String>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let (mut at, mut supers) = (0, 0);
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' && is_test_only(tokens.get(at)) => {
                let ends = |token: &TokenTree| match token {
                    TokenTree::Punct(punct) => punct.as_char() == ';',
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                    _ => false,
                };
                at += tokens[at..].iter().position(ends).map_or(tokens.len(), |end| end + 1);
            }
            TokenTree::Group(group) => collect(group.stream(), depth, used),
            TokenTree::Ident(ident) if ident == "crate" || ident == "super" => {
                supers = if ident == "super" { supers + 1 } else { 0 };
                let follows = tokens[at..].iter().take(2).all(|token| token.to_string() == ":");
                let from_root = ident == "crate" || supers == depth;
                let next = tokens.get(at + 2).filter(|_| follows);
                if matches!(next, Some(TokenTree::Ident(next)) if next == "super") {
                    at += 2;
                } else {
                    used.extend(next.filter(|_| from_root).into_iter().flat_map(first_names));
                    supers = 0;
                }
            }
            _ => supers = 0,
        }
    }
}

/// Returns whether an attribute is `#[cfg(test)]` or the like.
fn is_test_only(attribute: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(attribute)) = attribute else { return false };
    let text = attribute.stream().to_string().replace(' ', "");
    text.starts_with("cfg(test") || text.starts_with("cfg(all(test")
}

/// Returns the first name of a path, or of each path in braces. Types of the crate root are no modules.
fn first_names(token: &TokenTree) -> Vec<String> {
    let is_module = |name: &String| name.starts_with(char::is_lowercase) && name != "self";
    match token {
        TokenTree::Ident(ident) => Some(ident.to_string()).into_iter().filter(is_module).collect(),
        TokenTree::Group(group) => {
            let items: Vec<_> = group.stream().into_iter().collect();
            let paths = items.split(|token| token.to_string() == ",");
            paths.filter_map(|path| path.first()).flat_map(first_names).collect()
        }
        _ => Vec::new(),
    }
}
