//! Logs whose records name the one that they follow, as a tree.

use super::{
    json::Node,
    lines::{self, Lines},
    log_file::origin,
    taken_back::{Link, Parent, TakenBack, beside_the_path},
    transcript::SessionFiles,
};
use crate::{budget::Budget, limits::history as limits};
use memchr::memmem;
use std::{
    io::{self, Read, SeekFrom},
    ops::Range,
};

/// How the records of an agent's log form a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    /// Keys of a record's own id and of the id of the one that it follows, in quotes.
    pub(super) id: &'static str,
    pub(super) parent: &'static str,
    /// Returns the place of a record; `None` for one outside of the tree.
    pub(super) place: fn(&Node<'_>) -> Option<TreePlace>,
    /// Returns whether the user typed a record.
    pub(super) is_prompt: fn(&Node<'_>) -> bool,
}

/// The place of a record in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreePlace {
    /// Hash of its id.
    pub(super) id: u64,
    pub(super) parent: Parent,
}

impl Tree {
    /// Returns the lines that were taken back, of those that begin in a range of byte offsets. The last record in the range
    /// is the end of the conversation.
    pub(super) fn taken_back(
        &self,
        files: SessionFiles<'_>,
        range: Range<u64>,
        budget: &Budget,
    ) -> TakenBack {
        self.read(files, range, budget).unwrap_or_default()
    }

    fn read(&self, files: SessionFiles<'_>, range: Range<u64>, budget: &Budget) -> io::Result<TakenBack> {
        let mut log = lines::open_all(files)?;
        let end = log.seek(SeekFrom::End(0))?.unwrap_or(range.end).min(range.end);
        let from = range.start.max(end.saturating_sub(limits::TAKEN_BACK));
        log.seek(SeekFrom::Start(from))?;
        let mut lines = Lines::new(log, limits::SHOWN_LINE, end.saturating_sub(from));
        let (keys, mut links) = (self.keys(), Vec::new());
        while let Some(line) = lines.next(budget)? {
            let Some(place) = self.place(&keys, line.bytes, &line.text()) else { continue };
            let start = from + line.offset;
            let next = start + line.bytes.len() as u64 + 1;
            links.push(Link { line: start..next, id: place.id, parent: place.parent });
        }
        let is_chain = |pair: &[Link]| {
            matches!(pair[1].parent, Parent::Previous) || pair[1].parent == Parent::Id(pair[0].id)
        };
        if links.windows(2).all(is_chain) {
            return Ok(TakenBack::default());
        }
        let mut log = lines::open_all(files)?;
        let mut is_prompt = |link: &Link| {
            let mut bytes = Vec::new();
            let length = link.line.end - link.line.start;
            let is_there = log.seek(SeekFrom::Start(link.line.start)).is_ok()
                && log.by_ref().take(length).read_to_end(&mut bytes).is_ok();
            let text = String::from_utf8_lossy(bytes.trim_ascii());
            is_there && Node::parse_object(&text).is_some_and(|node| (self.is_prompt)(&node))
        };
        Ok(beside_the_path(&links, &mut is_prompt))
    }

    fn keys(&self) -> [memmem::Finder<'static>; 2] {
        [memmem::Finder::new(self.id), memmem::Finder::new(self.parent)]
    }

    /// Reads the place of a record. Of most lines the two ids are enough, which are found without parsing the rest.
    fn place(&self, [id, parent]: &[memmem::Finder<'_>; 2], line: &[u8], text: &str) -> Option<TreePlace> {
        let head = &line[..line.len().min(limits::TREE_HEAD)];
        parent.find(line)?;
        let plain = || {
            let mut ids = id.find_iter(line);
            let (first, second) = (ids.next()?, ids.next());
            let parent = parent.find(head).filter(|_| second.is_none())?;
            let is_special = memmem::find(head, b"\"isSidechain\":true").is_some()
                || memmem::find(head, b"\"logicalParentUuid\"").is_some();
            let id = value(line, first + self.id.len())?;
            let parent = value(line, parent + self.parent.len())?;
            (!is_special).then(|| TreePlace { id: origin(id), parent: Parent::Id(origin(parent)) })
        };
        plain().or_else(|| (self.place)(&Node::parse_object(text)?))
    }
}

/// Returns the text that follows a key, if it has no escapes.
fn value(line: &[u8], at: usize) -> Option<&str> {
    let text = line.get(at..)?.strip_prefix(b":\"")?;
    let end = memchr::memchr2(b'"', b'\\', text)?;
    (text[end] == b'"').then(|| std::str::from_utf8(&text[..end]).ok())?
}

/// Returns the parent that a field names.
pub(super) fn parent(node: &Node<'_>, key: &str) -> Parent {
    match node.get(key) {
        Some(Node::Text(id)) => Parent::Id(origin(id)),
        Some(_) => Parent::None,
        None => Parent::Previous,
    }
}
