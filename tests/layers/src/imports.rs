//! The modules that a file names: with `crate::a::b`, with `super::a`, or with a path that begins with a child module.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeSet;

/// A path from the crate root: modules, then an item, as far as it is written out.
pub(crate) type Import = Vec<String>;

/// Returns the paths that a file names. Macro arguments are included; comments, strings and tests are not.
pub(crate) fn find_imports(tokens: TokenStream, module: &[String]) -> Vec<Import> {
    let mut found = BTreeSet::new();
    let children = children(tokens.clone());
    collect(tokens, module, &children, &mut found);
    found.into_iter().collect()
}

/// Returns the modules that a file declares in separate files: `mod a;`.
fn children(tokens: TokenStream) -> BTreeSet<String> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let declared = tokens.windows(3).filter_map(|three| match three {
        [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(end)]
            if word == "mod" && end.as_char() == ';' =>
        {
            Some(name.to_string())
        }
        _ => None,
    });
    declared.collect()
}

fn collect(
    tokens: TokenStream,
    module: &[String],
    children: &BTreeSet<String>,
    found: &mut BTreeSet<Import>,
) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut at = 0;
    // Whether the previous token is `::`, which means that the next one is in the middle of a path.
    let mut is_inside = false;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                at = after_test_only(&tokens, at);
                is_inside = false;
            }
            TokenTree::Punct(punct) => is_inside = punct.as_char() == ':' && is_double_colon(&tokens, at - 1),
            TokenTree::Group(group) => {
                // Braces after `::` belong to a path, which was already followed from its beginning.
                if !is_inside {
                    collect(group.stream(), module, children, found);
                }
                is_inside = false;
            }
            TokenTree::Ident(ident) if !is_inside => {
                let word = ident.to_string();
                let base = match word.as_str() {
                    "crate" => Some(Vec::new()),
                    "super" => module.split_last().map(|(_, above)| above.to_vec()),
                    "self" => Some(module.to_vec()),
                    _ if children.contains(&word) => Some([module, &[word]].concat()),
                    _ => None,
                };
                if let Some(base) = base.filter(|_| is_path(&tokens, at)) {
                    follow(&tokens[at + 2..], base, found);
                }
            }
            TokenTree::Ident(_) => is_inside = false,
            TokenTree::Literal(_) => is_inside = false,
        }
    }
}

/// Returns whether the tokens at `at` are `::`.
fn is_path(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    tokens.get(at..at + 2).is_some_and(|two| two.iter().all(is_colon))
}

/// Returns whether the colon at `at` is the second one of `::`.
fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    at > 0 && is_path(tokens, at - 1)
}

/// Follows a path, or each path in braces.
fn follow(tokens: &[TokenTree], mut base: Import, found: &mut BTreeSet<Import>) {
    match tokens.first() {
        Some(TokenTree::Ident(name)) => {
            match name.to_string().as_str() {
                "super" => drop(base.pop()),
                "self" => {}
                name => base.push(name.to_owned()),
            }
            match is_path(tokens, 1) {
                true => follow(&tokens[3..], base, found),
                false => drop(found.insert(base)),
            }
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            let inner: Vec<_> = group.stream().into_iter().collect();
            let is_comma =
                |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
            for path in inner.split(is_comma).filter(|path| !path.is_empty()) {
                follow(path, base.clone(), found);
            }
        }
        _ => drop(found.insert(base)),
    }
}

/// Returns the index after a test-only item if the attribute at `at` marks one; otherwise `at`.
pub(crate) fn after_test_only(tokens: &[TokenTree], at: usize) -> usize {
    if !is_test_only(tokens.get(at)) {
        return at;
    }
    let ends = |token: &TokenTree| match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    };
    tokens[at..].iter().position(ends).map_or(tokens.len(), |end| at + end + 1)
}

/// Returns whether an attribute is `#[cfg(test)]` or similar.
fn is_test_only(attribute: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(attribute)) = attribute else { return false };
    let text = attribute.stream().to_string().replace(' ', "");
    text.starts_with("cfg(test") || text.starts_with("cfg(all(test") || text.starts_with("cfg(any(test")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let module = ["house", "door"].map(str::to_owned);
        find_imports(text.parse().unwrap_or_default(), &module).iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn paths_are_found_anywhere_in_a_file() {
        for (text, expected) in [
            ("use crate::ground::Stone;", &["ground::Stone"][..]),
            (
                "use crate::{Token, ground::{self, Stone}, roof};",
                &["Token", "ground", "ground::Stone", "roof"],
            ),
            (
                "pub(crate) use super::wall::{Brick, deep::Nail};",
                &["house::wall::Brick", "house::wall::deep::Nail"],
            ),
            ("use super::super::roof::Tile;", &["roof::Tile"]),
            ("use super::{super::roof::{Tile}, wall};", &["house::wall", "roof::Tile"]),
            (
                "mod lock; fn open() -> crate::shed::Key { lock::turn() }",
                &["house::door::lock::turn", "shed::Key"],
            ),
            ("fn f() { unlock!(crate::roof::Tile, std::lock::x) }", &["roof::Tile"]),
            ("/// Like [`crate::roof`].\nconst NOTE: &str = \"crate::roof\"; // crate::roof", &[]),
            ("#[cfg(test)]\nmod tests { use crate::roof::Tile; }", &[]),
            ("#[cfg(all(test, unix))]\n#[path = \"x.rs\"]\nmod tests;\nuse crate::roof;", &["roof"]),
            ("use std::path::Path; mod path; fn f() { std::path::x() }", &[]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }
}
