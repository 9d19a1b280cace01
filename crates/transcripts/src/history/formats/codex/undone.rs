//! Finds the turns of a thread that the user undid.
//!
//! A revert (0.146 and later) starts a new segment, whose `history_base` says how much of the previous one still
//! counts. Older versions appended `thread_rolled_back`, with the number of turns, to the same file.

use super::{
    base_id_of,
    record::{self, Item},
};
use crate::{
    history::{
        log::{
            json::Node,
            lines::{self, Lines},
            title,
            undone::UndoneLines,
        },
        transcript::SessionFiles,
    },
    limits,
};
use memchr::memmem;
use openagents_core::budget::Budget;
use std::{
    io::{self, Read},
    ops::Range,
    path::Path,
};

/// How much of a segment still counts: everything before this ordinal, which begins at this byte.
#[derive(Debug, Clone, Copy)]
struct Base {
    ordinal: u64,
    offset: Option<u64>,
}

pub(crate) fn undone(files: SessionFiles<'_>, range: Range<u64>, budget: &Budget) -> UndoneLines {
    let mut undone = UndoneLines::default();
    if !files.earlier.is_empty() {
        let _ = reverted(files, budget, &mut undone);
    }
    let _ = rolled_back(files, range, budget, &mut undone);
    undone
}

/// Adds the records that the newest segment does not build on.
fn reverted(files: SessionFiles<'_>, budget: &Budget, undone: &mut UndoneLines) -> io::Result<()> {
    let paths: Vec<&Path> = files.oldest_first().collect();
    let starts = lines::open_joined(paths.iter().copied())?.starts();
    // Missing files shift the offsets of the others, so nothing is known then.
    if starts.len() != paths.len() {
        return Ok(());
    }
    // How much of each segment still counts: nothing, a part, or all.
    let mut kept: Vec<Option<Option<Base>>> = vec![None; paths.len()];
    let mut next = Some((paths.len() - 1, None));
    while let Some((at, base)) = next {
        kept[at] = Some(base);
        next = base_of(paths[at], budget).and_then(|(id, base)| {
            let older = paths[..at].iter().rposition(|path| base_id_of(path) == Some(&id))?;
            Some((older, Some(base)))
        });
    }
    for (at, kept) in kept.into_iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(u64::MAX);
        match kept {
            Some(None) => {}
            Some(Some(base)) => {
                let cut = end_of(paths[at], base, budget).unwrap_or(end - starts[at]);
                undone.add(starts[at].saturating_add(cut)..end);
            }
            None => undone.add(starts[at]..end),
        }
    }
    Ok(())
}

/// Returns the segment that a segment builds on, and up to which record.
fn base_of(path: &Path, budget: &Budget) -> Option<(String, Base)> {
    let mut lines = Lines::new(lines::open(path).ok()?, limits::SUMMARY_LINE, limits::SUMMARY_HEAD);
    let line = lines.next(budget).ok()??;
    let text = line.text();
    let node = Node::parse_object(&text)?;
    let base = node.get("payload")?.get("history_base")?;
    let ordinal = base.count("end_ordinal_exclusive")?;
    Some((base.text("thread_id")?.to_owned(), Base { ordinal, offset: base.count("end_byte_offset") }))
}

/// Returns the byte offset of the first record that no longer counts; `None` if all do.
fn end_of(path: &Path, base: Base, budget: &Budget) -> Option<u64> {
    let mut lines = Lines::new(lines::open(path).ok()?, limits::SUMMARY_LINE, u64::MAX);
    while let Some(line) = lines.next(budget).ok()? {
        let ordinal = memmem::find(line.bytes, b"\"ordinal\"")
            .and_then(|_| Node::parse_object(&line.text())?.count("ordinal"));
        let is_behind = match ordinal {
            Some(ordinal) => ordinal >= base.ordinal,
            // The file was rewritten without ordinals.
            None => base.offset.is_some_and(|offset| line.offset >= offset),
        };
        if is_behind {
            return Some(line.offset);
        }
    }
    None
}

/// Returns whether a log has a record that undoes turns; most logs don't.
fn has_rolled_back(mut log: impl Read, budget: &Budget) -> io::Result<bool> {
    const MARKER: &[u8] = b"\"thread_rolled_back\"";
    let marker = memmem::Finder::new(MARKER);
    let mut chunk = vec![0; limits::COUNT_CHUNK];
    let mut kept = 0;
    while !budget.spent() {
        let read = match log.read(&mut chunk[kept..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            break;
        }
        let end = kept + read;
        if marker.find(&chunk[..end]).is_some() {
            return Ok(true);
        }
        // The marker may continue in the next chunk.
        kept = end.min(MARKER.len() - 1);
        chunk.copy_within(end - kept..end, 0);
    }
    Ok(false)
}

fn rolled_back(
    files: SessionFiles<'_>,
    range: Range<u64>,
    budget: &Budget,
    undone: &mut UndoneLines,
) -> io::Result<()> {
    if !has_rolled_back(lines::open_all(files)?.take(range.end), budget)? {
        return Ok(());
    }
    let mut lines = Lines::new(lines::open_all(files)?, limits::LINE, range.end);
    // Offsets of the turns that still count. A turn starts with several records of its prompt, before anything else.
    let mut turns = Vec::new();
    let mut in_prompt = false;
    while let Some(line) = lines.next(budget)? {
        let text = line.text();
        let Some(node) = Node::parse_object(&text).filter(|_| !undone.contains(line.offset)) else {
            continue;
        };
        if let Some(count) = record::rolled_back(&node) {
            let kept = turns.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
            if let Some(first) = turns.get(kept) {
                undone.add(*first..line.offset);
            }
            turns.truncate(kept);
            in_prompt = false;
            continue;
        }
        match record::item(&node) {
            Item::User { blocks, images, .. } => {
                let is_typed = images || title::prompt(blocks.iter().copied()).is_some();
                if is_typed && !in_prompt {
                    turns.push(line.offset);
                }
                in_prompt |= is_typed;
            }
            Item::Assistant { .. } | Item::Thinking { .. } | Item::Call { .. } | Item::Output { .. } => {
                in_prompt = false;
            }
            _ => {}
        }
    }
    Ok(())
}
