//! Turns that the user undid: an agent that rewinds, reverts or rolls back leaves them in its log and no longer shows
//! them.

use std::{collections::HashMap, ops::Range};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UndoneLines {
    /// Byte offsets at which such lines begin, in order and without overlap.
    ranges: Vec<Range<u64>>,
}

impl UndoneLines {
    pub(crate) fn add(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = self.ranges.partition_point(|known| known.end < range.start);
        let last = self.ranges.partition_point(|known| known.start <= range.end);
        let joined = self.ranges[first..last]
            .iter()
            .fold(range, |sum, known| sum.start.min(known.start)..sum.end.max(known.end));
        self.ranges.splice(first..last, [joined]);
    }

    pub(crate) fn before(mut self, offset: u64) -> Self {
        self.ranges.retain(|range| range.start < offset);
        self.ranges.iter_mut().for_each(|range| range.end = range.end.min(offset));
        self
    }

    /// Returns these lines if there are any, otherwise the others.
    pub(crate) fn or(self, other: impl FnOnce() -> Self) -> Self {
        if self.ranges.is_empty() { other() } else { self }
    }

    pub(crate) fn contains(&self, offset: u64) -> bool {
        let at = self.ranges.partition_point(|range| range.end <= offset);
        self.ranges.get(at).is_some_and(|range| range.contains(&offset))
    }
}

/// A record of a log that forms a tree: each record names the one that it follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// Byte offsets of its line.
    pub(crate) line: Range<u64>,
    pub(crate) id: u64,
    pub(crate) parent: Parent,
}

/// The record that another one follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    Id(u64),
    /// The record before it in the log.
    Previous,
    /// An answer that follows nothing: the log does not record what follows what.
    Missing,
    /// None: the conversation starts with it.
    None,
}

/// Returns the undone lines: those off the path to the last record, if their branch has a prompt. Parallel tool calls
/// are branches too, but have no prompt.
pub(crate) fn beside_the_path(links: &[Link], is_prompt: &mut dyn FnMut(&Link) -> bool) -> UndoneLines {
    let mut places = HashMap::with_capacity(links.len());
    for (at, link) in links.iter().enumerate() {
        // A copy of a session may contain a record twice.
        places.entry(link.id).or_insert(at);
    }
    let is_tree = links.iter().all(|link| link.parent != Parent::Missing);
    let parent_of = |at: usize| match links[at].parent {
        Parent::None if is_tree => None,
        // A parent that is not in this part of the log, or comes later, is ignored.
        Parent::Id(id) => places.get(&id).copied().filter(|place| *place < at).or(at.checked_sub(1)),
        Parent::Previous | Parent::Missing | Parent::None => at.checked_sub(1),
    };
    let mut on_path = vec![false; links.len()];
    let mut at = links.last().and_then(|last| places.get(&last.id).copied());
    while let Some(place) = at {
        on_path[place] = true;
        at = parent_of(place);
    }
    // Repeated records are on the path if the first one is.
    for (at, link) in links.iter().enumerate() {
        on_path[at] |= places.get(&link.id).is_some_and(|first| on_path[*first]);
    }
    if on_path.iter().all(|on_path| *on_path) {
        return UndoneLines::default();
    }
    // For each record, the first one of its branch; for each of those, whether the branch has a prompt.
    let mut branches = vec![0; links.len()];
    let mut has_prompt = vec![false; links.len()];
    for (at, link) in links.iter().enumerate().filter(|(at, _)| !on_path[*at]) {
        branches[at] = match parent_of(at) {
            Some(parent) if !on_path[parent] => branches[parent],
            _ => at,
        };
        has_prompt[branches[at]] |= is_prompt(link);
    }
    let mut undone = UndoneLines::default();
    for (at, link) in links.iter().enumerate() {
        if !on_path[at] && has_prompt[branches[at]] {
            undone.add(link.line.clone());
        }
    }
    undone
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn add_keeps_ranges_ordered_and_apart() {
        let mut undone = UndoneLines::default();
        for range in [10..20, 40..50, 20..25, 5..8, 30..45, 60..60] {
            undone.add(range);
        }
        assert_eq!(undone.ranges, [5..8, 10..25, 30..50]);
        for (offset, expected) in
            [(4, false), (5, true), (8, false), (10, true), (24, true), (25, false), (49, true), (50, false)]
        {
            assert_eq!(undone.contains(offset), expected, "{offset}");
        }
    }

    /// Builds records of ten bytes each from `id<parent`, where `-` is no parent, `^` the previous record and `?` a
    /// missing one. Prompts have capital ids. Returns the ids that were undone.
    fn taken(log: &str) -> String {
        let letter = |letter: char| u64::from(letter.to_ascii_lowercase());
        let links: Vec<Link> = log
            .split(' ')
            .enumerate()
            .map(|(at, text)| {
                let mut letters = text.chars();
                let id = letters.next().unwrap();
                let parent = match letters.nth(1).unwrap() {
                    '-' => Parent::None,
                    '^' => Parent::Previous,
                    '?' => Parent::Missing,
                    parent => Parent::Id(letter(parent)),
                };
                Link { line: at as u64 * 10..at as u64 * 10 + 10, id: letter(id), parent }
            })
            .collect();
        let at = |link: &Link| (link.line.start / 10) as usize;
        let names: Vec<char> = log.split(' ').map(|text| text.chars().next().unwrap()).collect();
        let undone = beside_the_path(&links, &mut |link| names[at(link)].is_uppercase());
        (0..names.len()).filter(|at| undone.contains(*at as u64 * 10)).map(|at| names[at]).collect()
    }

    #[test]
    fn abandoned_branch_with_prompt_is_taken_back() {
        for (log, expected) in [
            ("A<- b<A C<b d<C", ""),
            // The user undid C and its answer.
            ("A<- b<A C<b d<C E<b f<E", "Cd"),
            // Twice, at different places.
            ("A<- b<A C<b d<C E<d f<E G<d h<G I<b j<I", "CdEfGh"),
            // Back to the start.
            ("A<- b<A C<- d<C", "Ab"),
            // Two calls at once: the result of the first is off the path.
            ("A<- b<A c<b d<b e<c f<e", ""),
            ("A<- b<A c<b e<c d<b f<e G<f", ""),
            // After a compaction the records before it still count.
            ("A<- b<A c<^ D<c", ""),
            // A parent that was not read.
            ("A<- b<A C<z d<C", ""),
            ("A<- b<A C<b d<C E<b F<z", "Cd"),
            // The same records twice, as in some copies of a session.
            ("A<- A<- b<A b<A C<b d<C", ""),
            ("A<- A<- b<A b<A C<b C<b E<b E<b", "CC"),
            ("A<A", ""),
            ("A<- b<A D<^ b<A c<^ E<A b<A", "DE"),
            // Not a tree.
            ("A<- b<? C<- d<?", ""),
        ] {
            assert_eq!(taken(log), expected, "{log}");
        }
        assert_eq!(beside_the_path(&[], &mut |_| true), UndoneLines::default());
    }

    proptest! {
        #[test]
        fn beside_the_path_accepts_any_links(records in prop::collection::vec((0u64..20, 0u64..24, any::<bool>()), 0..60)) {
            let links: Vec<Link> = records
                .iter()
                .enumerate()
                .map(|(at, (id, parent, _))| Link {
                    line: at as u64..at as u64 + 1,
                    id: *id,
                    parent: match parent { 22 => Parent::None, 23 => Parent::Previous, id => Parent::Id(*id) },
                })
                .collect();
            let undone = beside_the_path(&links, &mut |link| records[link.line.start as usize].2);
            if let Some(last) = links.len().checked_sub(1) {
                prop_assert!(!undone.contains(last as u64));
            }
        }
    }
}
