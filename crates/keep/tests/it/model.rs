//! The store against a model that keeps every version in memory.

use crate::support::{capture, read};
use openagents_keep::{Captured, CopyStore};
use proptest::prelude::*;
use std::time::Duration;

#[derive(Clone)]
enum Step {
    /// Appends to a file.
    Append(usize, Vec<u8>),
    /// Rewrites a file with another beginning.
    Rewrite(usize, Vec<u8>),
    /// Writes a file again with the same lines in another order, so that nothing is lost.
    Reverse(usize),
    Seal,
    /// Compresses packs again; without time, only a part of that.
    Recompress(bool),
    Reopen,
    /// Erases one collection.
    Erase(usize),
}

impl std::fmt::Debug for Step {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Append(file, bytes) => write!(formatter, "append {} bytes to {file}", bytes.len()),
            Self::Rewrite(file, bytes) => write!(formatter, "rewrite {file} with {} bytes", bytes.len()),
            Self::Reverse(file) => write!(formatter, "reverse {file}"),
            Self::Erase(which) => write!(formatter, "erase {which}"),
            Self::Seal => write!(formatter, "seal"),
            Self::Recompress(all) => write!(formatter, "recompress {all}"),
            Self::Reopen => write!(formatter, "reopen"),
        }
    }
}

/// A log of a few lines, some of which occur often.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        (0..6_u64, 500..3000_usize).prop_map(|(seed, length)| {
            crate::support::line(length, &crate::support::noise(seed, 700 * (seed as usize + 1)))
        }),
        "[ -~]{0,40}\n",
        (0..3_u64).prop_map(|seed| crate::support::noise(seed, 150_000) + "\n"),
    ];
    let lines =
        prop::collection::vec(line.prop_map(String::into_bytes), 0..5).prop_map(|lines| lines.concat());
    prop_oneof![4 => lines, 1 => prop::collection::vec(any::<u8>(), 0..300)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_usize, bytes()).prop_map(|(file, bytes)| Step::Append(file, bytes)),
        2 => (0..4_usize, bytes()).prop_map(|(file, bytes)| Step::Rewrite(file, bytes)),
        1 => (0..4_usize).prop_map(Step::Reverse),
        2 => Just(Step::Seal),
        1 => any::<bool>().prop_map(Step::Recompress),
        1 => Just(Step::Reopen),
        1 => (0..2_usize).prop_map(Step::Erase),
    ]
}

/// The versions of four files: the even ones belong to one collection, the odd ones to another.
type Model = [Vec<Vec<u8>>; 4];

fn name(file: usize) -> String {
    format!("{file}.jsonl")
}

fn check(store: &CopyStore, collections: [i64; 2], model: &Model) {
    for (file, versions) in model.iter().enumerate() {
        for (back, expected) in versions.iter().rev().enumerate() {
            let found = read(store, collections[file % 2], &name(file), back);
            assert!(found == *expected, "file {file}, {back} versions back");
        }
    }
    let verified = store.verify((0, 1), &|| false).unwrap();
    assert_eq!(verified.damaged, []);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_version_is_read_as_it_was(steps in prop::collection::vec((step(), any::<bool>()), 1..25)) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = CopyStore::open(folder.path()).unwrap();
        let add = |store: &CopyStore| ["even", "odd"].map(|name| store.put(name, "", "").unwrap());
        let mut collections = add(&store);
        let mut model = Model::default();
        for (at, (step, seals)) in steps.into_iter().enumerate() {
            // A rewritten file is recognized by its first bytes, or by those before its old end.
            let start = format!("start {at}\n").into_bytes();
            let (file, bytes) = match step {
                Step::Seal => {
                    store.seal_journals(Duration::ZERO).unwrap();
                    continue;
                }
                Step::Recompress(all) => {
                    let time = Duration::from_secs(if all { 600 } else { 0 });
                    let is_left = store.recompress(Duration::ZERO, time).unwrap();
                    prop_assert!(!(all && is_left));
                    continue;
                }
                Step::Reopen => {
                    drop(store);
                    store = CopyStore::open(folder.path()).unwrap();
                    continue;
                }
                Step::Erase(which) => {
                    store.erase(&[collections[which]]).unwrap();
                    model.iter_mut().skip(which).step_by(2).for_each(Vec::clear);
                    collections = add(&store);
                    check(&store, collections, &model);
                    continue;
                }
                Step::Append(file, more) => {
                    let mut bytes = model[file].last().cloned().unwrap_or_default();
                    bytes.extend(more);
                    (file, bytes)
                }
                Step::Rewrite(file, bytes) => (file, [start, bytes].concat()),
                Step::Reverse(file) => {
                    let bytes = model[file].last().cloned().unwrap_or_default();
                    let lines = bytes.split_inclusive(|byte| *byte == b'\n').rev();
                    (file, std::iter::once(&start[..]).chain(lines).collect::<Vec<_>>().concat())
                }
            };
            match capture(&store, collections[file % 2], &name(file), &bytes, seals) {
                Captured::Nothing => prop_assert_eq!(model[file].last().unwrap(), &bytes),
                Captured::More(_) => {
                    model[file].pop();
                    model[file].push(bytes);
                }
                Captured::Rewritten { before_stays } => {
                    if !before_stays {
                        model[file].pop();
                    }
                    model[file].push(bytes);
                }
            }
        }
        check(&store, collections, &model);
        store.seal_journals(Duration::ZERO).unwrap();
        check(&store, collections, &model);
        drop(store);
        let reader = CopyStore::open_reader(folder.path()).unwrap().unwrap();
        check(&reader, collections, &model);
    }
}
