//! Finds files that import each other, directly or through others.

use crate::source::File;
use std::collections::{BTreeMap, BTreeSet};

/// Maps a file's module to the modules of the files that it imports.
type Graph<'a> = BTreeMap<&'a [String], BTreeSet<&'a [String]>>;

/// Returns one line for each import cycle of files. The crate root is left out: it declares and exports everything.
pub(crate) fn cycles(files: &[File]) -> Vec<String> {
    let files: Vec<&File> = files.iter().filter(|file| !file.module.is_empty()).collect();
    let known: BTreeSet<&[String]> = files.iter().map(|file| file.module.as_slice()).collect();
    let graph: Graph<'_> = files
        .iter()
        .map(|file| {
            let used = file.imports.iter().filter_map(|import| file_of(import, &known));
            (file.module.as_slice(), used.filter(|used| *used != file.module.as_slice()).collect())
        })
        .collect();
    let mut reported = BTreeSet::new();
    let mut lines = Vec::new();
    for start in graph.keys() {
        if reported.contains(start) {
            continue;
        }
        let from_here = reached(&graph, start);
        // The files that this one reaches and that also reach this one.
        let cycle: BTreeSet<&[String]> =
            from_here.iter().copied().filter(|other| reached(&graph, other).contains(start)).collect();
        if !cycle.is_empty() {
            let names: Vec<String> = cycle.iter().map(|module| module.join("::")).collect();
            lines.push(format!("a cycle of files: {}", names.join(", ")));
            reported.extend(cycle);
        }
    }
    lines
}

/// Returns the file that contains the item a path names: the longest prefix that is a file.
fn file_of<'a>(import: &[String], known: &BTreeSet<&'a [String]>) -> Option<&'a [String]> {
    (1..=import.len()).rev().find_map(|length| known.get(&import[..length]).copied())
}

/// Returns the files that can be reached from a file over one or more imports.
fn reached<'a>(graph: &Graph<'a>, start: &[String]) -> BTreeSet<&'a [String]> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&[String]> = graph.get(start).into_iter().flatten().copied().collect();
    while let Some(next) = open.pop() {
        if seen.insert(next) {
            open.extend(graph.get(next).into_iter().flatten().copied());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn lines(files: &[(&str, &str)]) -> Vec<String> {
        let parsed: Vec<File> =
            files.iter().map(|(path, text)| File::parse(Path::new(path), text).unwrap()).collect();
        cycles(&parsed)
    }

    #[test]
    fn cycle_of_any_length_is_found() {
        let open = [("a.rs", "use crate::b::X;"), ("b.rs", "use crate::c::X;"), ("c.rs", "")];
        assert_eq!(lines(&open), Vec::<String>::new());
        let closed = [("a.rs", "use crate::b::X;"), ("b.rs", "use crate::c::X;"), ("c.rs", "use crate::a;")];
        assert_eq!(lines(&closed), ["a cycle of files: a, b, c"]);
    }

    #[test]
    fn folder_and_its_file_may_form_a_cycle() {
        let exports =
            [("a/mod.rs", "mod b; mod c; pub use b::X;"), ("a/b.rs", ""), ("a/c.rs", "use super::b::X;")];
        assert_eq!(lines(&exports), Vec::<String>::new());
        let round = [("a/mod.rs", "mod b; pub use b::X;"), ("a/b.rs", "use super::Y;")];
        assert_eq!(lines(&round), ["a cycle of files: a, a::b"]);
    }
}
