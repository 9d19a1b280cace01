//! Reads a file for the searcher: stops at the deadline, and immediately if the file is binary.

use openagents_core::{
    budget::Budget,
    workspace::{BINARY_PROBE, is_binary},
};
use std::io::{Cursor, Read};

pub(super) struct BoundedReader<'a, R> {
    head: Cursor<Vec<u8>>,
    /// The rest of the file after the head; `None` if the head is the whole file.
    rest: Option<R>,
    budget: &'a Budget,
    /// The budget ran out before the end of the file.
    pub(super) cut: bool,
}

impl<'a, R: Read> BoundedReader<'a, R> {
    /// Returns `None` for a binary file. `size` is the size at opening; a file of size 0 is read to its end.
    pub(super) fn new(mut file: R, size: u64, budget: &'a Budget) -> std::io::Result<Option<Self>> {
        // Most files are small and need a single read.
        let wanted = if size == 0 { BINARY_PROBE as u64 } else { size.min(BINARY_PROBE as u64) };
        let mut head = Vec::with_capacity(wanted as usize + 1);
        file.by_ref().take(wanted).read_to_end(&mut head)?;
        let whole = size > 0 && head.len() as u64 == size;
        if is_binary(&head) {
            return Ok(None);
        }
        let rest = (!whole).then_some(file);
        Ok(Some(Self { head: Cursor::new(head), rest, budget, cut: false }))
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
