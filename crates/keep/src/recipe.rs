//! Where the bytes of a file are stored: pieces of frames, in order.

use std::io;

/// Bytes of one piece as stored: three numbers of four bytes.
const STORED: usize = 12;

/// Maximum number of pieces: a forged number must not exhaust memory. A part of a file has at most 16 MiB in lines.
const PIECES: usize = 1 << 20;

/// Some bytes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) frame: i64,
    /// Bytes of the frame before it.
    pub(crate) place: u32,
    pub(crate) length: u32,
}

impl Piece {
    pub(crate) fn end(self) -> u64 {
        u64::from(self.place) + u64::from(self.length)
    }
}

/// The pieces of a part of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Recipe(Vec<Piece>);

impl Recipe {
    /// Appends a piece; one that continues the last one becomes part of it.
    pub(crate) fn push(&mut self, piece: Piece) {
        if let Some(last) = self.0.last_mut()
            && last.frame == piece.frame
            && last.end() == u64::from(piece.place)
            && let Some(length) = last.length.checked_add(piece.length)
        {
            last.length = length;
        } else if piece.length > 0 {
            self.0.push(piece);
        }
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Returns the number of bytes that it describes.
    pub(crate) fn length(&self) -> u64 {
        self.0.iter().map(|piece| u64::from(piece.length)).sum()
    }

    /// Returns the compressed numbers, by column: the distance from the frame before, the place and the length.
    pub(crate) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.0.len() * STORED);
        let mut before = 0;
        for piece in &self.0 {
            let distance = i32::try_from(piece.frame - before)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "too many frames"))?;
            bytes.extend(distance.to_le_bytes());
            before = piece.frame;
        }
        bytes.extend(self.0.iter().flat_map(|piece| piece.place.to_le_bytes()));
        bytes.extend(self.0.iter().flat_map(|piece| piece.length.to_le_bytes()));
        zstd::bulk::compress(&bytes, 3)
    }

    /// Reads the form that [`Recipe::encode`] returns; `None` if it is damaged.
    pub(crate) fn decode(bytes: &[u8], pieces: u32) -> Option<Self> {
        let count = Some(pieces as usize).filter(|count| *count <= PIECES)?;
        let bytes = zstd::bulk::decompress(bytes, count.checked_mul(STORED)?).ok()?;
        if bytes.len() != count * STORED {
            return None;
        }
        let number = |at: usize| -> Option<[u8; 4]> { bytes.get(at * 4..at * 4 + 4)?.try_into().ok() };
        let (mut frame, mut found) = (0_i64, Vec::with_capacity(count));
        for at in 0..count {
            frame += i64::from(i32::from_le_bytes(number(at)?));
            let place = u32::from_le_bytes(number(count + at)?);
            let length = u32::from_le_bytes(number(2 * count + at)?);
            found.push(Piece { frame, place, length });
        }
        Some(Self(found))
    }
}

impl FromIterator<Piece> for Recipe {
    fn from_iter<T: IntoIterator<Item = Piece>>(pieces: T) -> Self {
        let mut recipe = Self::default();
        pieces.into_iter().for_each(|piece| recipe.push(piece));
        recipe
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn contiguous_pieces_are_joined() {
        let piece = |frame, place, length| Piece { frame, place, length };
        let recipe: Recipe =
            [piece(1, 0, 10), piece(1, 10, 5), piece(2, 15, 5), piece(2, 0, 0), piece(2, 20, 1)]
                .into_iter()
                .collect();
        assert_eq!(recipe.pieces(), [piece(1, 0, 15), piece(2, 15, 6)]);
    }

    proptest! {
        #[test]
        fn recipes_survive_encoding(pieces in prop::collection::vec((0..1_000_000_i64, any::<u32>(), any::<u32>()), 0..50)) {
            let recipe: Recipe =
                pieces.into_iter().map(|(frame, place, length)| Piece { frame, place, length }).collect();
            let bytes = recipe.encode().unwrap();
            let count = recipe.pieces().len() as u32;
            prop_assert_eq!(Recipe::decode(&bytes, count), Some(recipe));
            prop_assert_eq!(Recipe::decode(&bytes, count + 1), None);
        }

        #[test]
        fn damaged_recipes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), pieces in 0..10_000_u32) {
            // Whatever comes out, nothing panics.
            let _ = Recipe::decode(&bytes, pieces);
        }
    }
}
