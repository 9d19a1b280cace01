//! Logs whose records name the record that they follow, as a tree.

use super::{
    json::Node,
    lines::{self, Lines},
    log_file::origin,
    undone::{Link, Parent, UndoneLines, beside_the_path},
};
use crate::history::transcript::SessionFiles;
use crate::limits;
use memchr::memmem;
use openagents_core::{budget::Budget, file};
use std::{
    io::{self, Read, SeekFrom},
    ops::Range,
};

/// How the records of an agent's log form a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tree {
    /// Keys of a record's own id and of the id of the record that it follows, in quotes.
    pub(crate) id: &'static str,
    pub(crate) parent: &'static str,
    /// Returns the place of a record; `None` for one outside the tree.
    pub(crate) place: fn(&Node<'_>) -> Option<TreePlace>,
    pub(crate) is_prompt: fn(&Node<'_>) -> bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreePlace {
    pub(crate) id: u64,
    pub(crate) parent: Parent,
}

impl Tree {
    /// Returns the undone lines among those that begin in a range of byte offsets. The last record in the range is the
    /// end of the conversation.
    pub(crate) fn undone(self, files: SessionFiles<'_>, range: Range<u64>, budget: &Budget) -> UndoneLines {
        self.branches(files, range, budget)
            .map_or_else(|_| UndoneLines::default(), |branches| branches.undone(files))
    }

    /// Returns whether lines that begin before `offset` were undone by those after it; reading starts at `from`.
    pub(crate) fn undoes_before(
        self,
        files: SessionFiles<'_>,
        from: u64,
        offset: u64,
        budget: &Budget,
    ) -> bool {
        let Ok(mut branches) = self.branches(files, from..u64::MAX, budget) else { return true };
        let now = branches.undone(files).before(offset);
        branches.links.retain(|link| link.line.start < offset);
        now != branches.undone(files).before(offset)
    }

    fn branches(self, files: SessionFiles<'_>, range: Range<u64>, budget: &Budget) -> io::Result<Branches> {
        let mut log = lines::open_all(files)?;
        let end = log.seek(SeekFrom::End(0))?.unwrap_or(range.end).min(range.end);
        let from = range.start.max(end.saturating_sub(limits::UNDONE));
        log.seek(SeekFrom::Start(from))?;
        let mut lines = Lines::new(log, limits::SHOWN_LINE, end.saturating_sub(from));
        let mut branches = Branches::new(self);
        while let Some(line) = lines.next(budget)? {
            branches.add(from + line.offset, line.bytes);
        }
        Ok(branches)
    }

    /// Reads the place of a record. For most lines the two ids are enough, which are found without parsing the rest.
    fn place(&self, [id, parent]: &[memmem::Finder<'_>; 2], line: &[u8], is_tree: bool) -> Option<TreePlace> {
        let head = &line[..line.len().min(limits::TREE_HEAD)];
        parent.find(line)?;
        let plain = || {
            let mut ids = id.find_iter(line);
            let (first, second) = (ids.next()?, ids.next());
            let parent = parent.find(head).filter(|_| second.is_none())?;
            let is_special = memmem::find(head, b"\"isSidechain\":true").is_some()
                || memmem::find(head, b"\"logicalParentUuid\"").is_some();
            let id = value(line, first + self.id.len())?;
            let parent = parent + self.parent.len();
            let parent = match value(line, parent) {
                Some(parent) => Parent::Id(origin(parent)),
                // The rest of the record makes a difference only in a tree.
                None if !is_tree && line[parent..].starts_with(b":null") => Parent::None,
                None => return None,
            };
            (!is_special).then(|| TreePlace { id: origin(id), parent })
        };
        plain().or_else(|| (self.place)(&Node::parse_object(&file::text(line))?))
    }
}

/// The tree of a log whose lines are read in order.
pub(crate) struct Branches {
    tree: Tree,
    keys: [memmem::Finder<'static>; 2],
    links: Vec<Link>,
    /// Every answer follows something.
    is_tree: bool,
}

impl Branches {
    pub(crate) fn new(tree: Tree) -> Self {
        Self { tree, keys: [tree.id, tree.parent].map(memmem::Finder::new), links: Vec::new(), is_tree: true }
    }

    /// Adds the next line, which begins at a byte offset.
    pub(crate) fn add(&mut self, offset: u64, line: &[u8]) {
        if let Some(TreePlace { id, parent }) = self.tree.place(&self.keys, line, self.is_tree) {
            self.is_tree &= parent != Parent::Missing;
            self.links.push(Link { line: offset..offset + line.len() as u64 + 1, id, parent });
        }
    }

    /// Returns the undone lines. The last line is the end of the conversation.
    pub(crate) fn undone(&self, files: SessionFiles<'_>) -> UndoneLines {
        let is_chain = |pair: &[Link]| match pair[1].parent {
            Parent::Previous => true,
            Parent::Id(id) => id == pair[0].id,
            Parent::Missing | Parent::None => !self.is_tree,
        };
        if self.links.windows(2).all(is_chain) {
            return UndoneLines::default();
        }
        let Ok(mut log) = lines::open_all(files) else { return UndoneLines::default() };
        let mut is_prompt = |link: &Link| {
            let mut bytes = Vec::new();
            let length = link.line.end - link.line.start;
            let is_there = log.seek(SeekFrom::Start(link.line.start)).is_ok()
                && log.by_ref().take(length).read_to_end(&mut bytes).is_ok();
            let text = file::text(bytes.trim_ascii());
            is_there && Node::parse_object(&text).is_some_and(|node| (self.tree.is_prompt)(&node))
        };
        beside_the_path(&self.links, &mut is_prompt)
    }
}

/// Returns the text that follows a key, if it has no escapes.
fn value(line: &[u8], at: usize) -> Option<&str> {
    let text = line.get(at..)?.strip_prefix(b":\"")?;
    let end = memchr::memchr2(b'"', b'\\', text)?;
    (text[end] == b'"').then(|| std::str::from_utf8(&text[..end]).ok())?
}

pub(crate) fn parent(node: &Node<'_>, key: &str) -> Parent {
    match node.get(key) {
        Some(Node::Text(id)) => Parent::Id(origin(id)),
        Some(_) => Parent::None,
        None => Parent::Previous,
    }
}
