//! The types that a file exposes: `pub` or `pub(…)` structs, enums, traits and aliases.

use crate::source::File;
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeMap;

/// Returns the names of a file's public types, excluding tests.
pub(crate) fn of(tokens: TokenStream) -> Vec<String> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                at = crate::imports::after_test_only(&tokens, at);
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                found.extend(of(group.stream()))
            }
            TokenTree::Ident(word) if word == "pub" => {
                let scope = usize::from(matches!(tokens.get(at), Some(TokenTree::Group(_))));
                if let Some([TokenTree::Ident(kind), TokenTree::Ident(name)]) =
                    tokens.get(at + scope..at + scope + 2)
                    && ["struct", "enum", "trait", "type", "union"].iter().any(|known| kind == known)
                {
                    found.push(name.to_string());
                }
            }
            _ => {}
        }
    }
    found
}

/// Returns one line for each type name that two files of a crate use.
pub(crate) fn repeated(files: &[File]) -> Vec<String> {
    let mut known: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in files {
        for name in &file.types {
            known.entry(name).or_default().push(file.name());
        }
    }
    let repeated = known.into_iter().filter(|(_, files)| files.len() > 1);
    repeated.map(|(name, files)| format!("a type {name} in each of: {}", files.join(", "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn public_types_are_found_and_tests_are_not_read() {
        let text = "pub struct A; pub(crate) enum B {} struct C; #[derive(X)] pub(in crate::a) trait D { type E; } \
            pub fn f() {} impl G for A { type H = B; } #[cfg(test)] mod tests { pub struct I; } pub type J = A;";
        assert_eq!(of(text.parse().unwrap_or_default()), ["A", "B", "D", "J"]);
    }

    #[test]
    fn a_name_in_two_files_is_told() {
        let files = [
            ("a.rs", "pub struct State;"),
            ("b/c.rs", "pub(super) enum State {}"),
            ("d.rs", "struct State;"),
        ]
        .map(|(path, text)| File::parse(Path::new(path), text).unwrap());
        assert_eq!(repeated(&files), ["a type State in each of: a, b::c"]);
    }
}
