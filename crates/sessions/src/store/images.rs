//! The images of prompts, by hash. They are deleted with their session.

use super::{error::StoreError, handle::Store};
use openagents_core::{agent::ImageBytes, update::PromptImage};
use rusqlite::{OptionalExtension as _, params};

impl Store {
    /// Stores images of a session; those that it has stay. Blocks.
    pub fn keep_images(
        &self,
        session_id: &str,
        images: Vec<(PromptImage, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        let session = session_id.to_owned();
        self.write(move |transaction, _| {
            for (PromptImage { hash, mime_type, .. }, bytes) in &images {
                transaction
                    .prepare_cached("INSERT OR IGNORE INTO images VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![session, hash, mime_type, bytes])?;
            }
            Ok(())
        })
    }

    /// Returns an image of a session. Blocks.
    pub fn image(&self, session_id: &str, hash: &str) -> Result<Option<ImageBytes>, StoreError> {
        self.query(|connection| {
            connection
                .prepare_cached("SELECT mime_type, bytes FROM images WHERE session_id = ?1 AND hash = ?2")?
                .query_row([session_id, hash], |row| {
                    Ok(ImageBytes { mime_type: row.get(0)?, bytes: row.get(1)? })
                })
                .optional()
        })
    }

    /// Returns the images of a prompt that are still there. Blocks.
    pub(crate) fn images_of(
        &self,
        session_id: &str,
        images: &[PromptImage],
    ) -> Result<Vec<ImageBytes>, StoreError> {
        images.iter().filter_map(|image| self.image(session_id, &image.hash).transpose()).collect()
    }
}
