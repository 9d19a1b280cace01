//! A file as the searcher reads it: it ends at the deadline, and at once when it is binary.

use crate::tool::Budget;
use std::io::{Cursor, Read};

/// How much of a file is looked at for a NUL.
const BINARY_PROBE: u64 = 8 * 1024;

/// Marks UTF-16, whose text holds NULs; the searcher decodes it.
const UTF16_MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

pub(super) struct BoundedReader<'a, R> {
    head: Cursor<Vec<u8>>,
    rest: R,
    budget: &'a Budget,
    /// The budget ended the reading before the file did.
    pub(super) cut: bool,
}

impl<'a, R: Read> BoundedReader<'a, R> {
    /// Returns `None` for a binary file. `probe` is scratch space that is handed from file to file.
    pub(super) fn new(mut file: R, mut probe: Vec<u8>, budget: &'a Budget) -> std::io::Result<Option<Self>> {
        probe.clear();
        file.by_ref().take(BINARY_PROBE).read_to_end(&mut probe)?;
        let reader = |head| Self { head: Cursor::new(head), rest: file, budget, cut: false };
        Ok((!is_binary(&probe)).then(|| reader(probe)))
    }

    /// Gives the scratch space back.
    pub(super) fn into_probe(self) -> Vec<u8> {
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
            0 => self.rest.read(buffer),
            length => Ok(length),
        }
    }
}

fn is_binary(head: &[u8]) -> bool {
    let utf16 = UTF16_MARKS.iter().any(|mark| head.starts_with(mark));
    !utf16 && memchr::memchr(0, head).is_some()
}
