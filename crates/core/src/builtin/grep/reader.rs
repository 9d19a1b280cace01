//! A file as the searcher reads it: it ends at the deadline, and at once when it is binary.

use crate::budget::Budget;
use std::io::{Cursor, Read};

/// How much of a file is looked at for a NUL.
const BINARY_PROBE: u64 = 8 * 1024;

/// Marks UTF-16, whose text holds NULs; the searcher decodes it.
const UTF16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

pub(super) struct BoundedReader<'a, R> {
    head: Cursor<Vec<u8>>,
    /// What comes behind the head; `None` when the head is the whole file.
    rest: Option<R>,
    budget: &'a Budget,
    /// The budget ended the reading before the file did.
    pub(super) cut: bool,
}

impl<'a, R: Read> BoundedReader<'a, R> {
    /// Returns `None` for a binary file. `size` is the file's when it was opened; a file that says 0 is read to its
    /// end. `head` is scratch space that is handed from file to file.
    pub(super) fn new(
        mut file: R,
        size: u64,
        mut head: Vec<u8>,
        budget: &'a Budget,
    ) -> std::io::Result<Option<Self>> {
        head.clear();
        head.reserve(BINARY_PROBE as usize);
        // Most files are small: one read, and no second one to learn that there is no more.
        let wanted = if size == 0 { BINARY_PROBE } else { size.min(BINARY_PROBE) };
        file.by_ref().take(wanted).read_to_end(&mut head)?;
        let whole = size > 0 && head.len() as u64 == size;
        let reader =
            |head| Self { head: Cursor::new(head), rest: (!whole).then_some(file), budget, cut: false };
        Ok((!is_binary(&head)).then(|| reader(head)))
    }

    /// Gives the scratch space back.
    pub(super) fn into_head(self) -> Vec<u8> {
        self.head.into_inner()
    }
}

impl<R: Read> Read for BoundedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.budget.spent() {
            self.cut = true;
            return Ok(0);
        }
        match self.head.read(buffer)? {
            0 => self.rest.as_mut().map_or(Ok(0), |rest| rest.read(buffer)),
            length => Ok(length),
        }
    }
}

fn is_binary(head: &[u8]) -> bool {
    let utf16 = UTF16_MARKS.iter().any(|mark| head.starts_with(mark));
    !utf16 && memchr::memchr(0, head).is_some()
}
