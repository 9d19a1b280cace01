//! A file that only takes room, so that copies can be erased on a full disk: an erasure writes a transaction and one
//! pack before it frees anything.

use crate::{
    pack::remove_if_there,
    store::{CopyStore, KeepError},
};
use std::{fs::File, path::PathBuf};

/// Bytes that the transactions of an erasure need.
const TRANSACTIONS: u64 = 4 << 20;

impl CopyStore {
    fn spare(&self) -> PathBuf {
        self.folder().join("spare")
    }

    /// Keeps the spare file as large as the largest pack and some transactions. Needs room on the disk. Blocks.
    pub fn keep_spare(&self) -> Result<(), KeepError> {
        let largest: u64 = {
            let connection = self.connection.lock();
            connection.query_row("SELECT coalesce(max(bytes), 0) FROM packs", [], |row| row.get(0))?
        };
        if largest == 0 {
            return Ok(remove_if_there(&self.spare())?);
        }
        let (wanted, now) = (largest + TRANSACTIONS, self.spare_bytes());
        if now < wanted || now > 2 * wanted {
            remove_if_there(&self.spare())?;
            let allocated = File::create(self.spare()).and_then(|file| fs4::FileExt::allocate(&file, wanted));
            if let Err(error) = allocated {
                remove_if_there(&self.spare())?;
                return Err(error.into());
            }
        }
        Ok(())
    }

    pub(crate) fn spare_bytes(&self) -> u64 {
        self.spare().metadata().map_or(0, |about| about.len())
    }

    /// Does something that frees room; if it fails, once more after the spare file is removed.
    pub(crate) fn with_spare(&self, work: impl Fn() -> Result<(), KeepError>) -> Result<(), KeepError> {
        let result = work();
        match result {
            Err(error) if self.is_writer() && self.spare().exists() => {
                tracing::debug!(%error, "the spare room is used to erase copies");
                remove_if_there(&self.spare())?;
                work()
            }
            result => result,
        }
    }
}
