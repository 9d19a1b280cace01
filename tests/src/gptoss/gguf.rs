//! Writes GGUF files, version 3.
//!
//! Layout and type numbers: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

/// Tensors and their offsets in the file are aligned to this many bytes.
const ALIGNMENT: usize = 32;

/// Number of weights that are quantized together.
pub(super) const BLOCK: usize = 32;

/// A file being built.
#[derive(Default)]
pub(super) struct Gguf {
    metadata: Vec<u8>,
    metadata_count: u64,
    infos: Vec<u8>,
    tensor_count: u64,
    data: Vec<u8>,
}

/// The storage format of a tensor's weights.
#[derive(Clone, Copy)]
enum Storage {
    F32 = 0,
    Q8_0 = 8,
    Mxfp4 = 39,
}

impl Gguf {
    pub(super) fn u32(&mut self, key: &str, value: u32) {
        self.key(key, 4);
        self.metadata.extend(value.to_le_bytes());
    }

    pub(super) fn f32(&mut self, key: &str, value: f32) {
        self.key(key, 6);
        self.metadata.extend(value.to_le_bytes());
    }

    pub(super) fn bool(&mut self, key: &str, value: bool) {
        self.key(key, 7);
        self.metadata.push(value.into());
    }

    pub(super) fn string(&mut self, key: &str, value: &str) {
        self.key(key, 8);
        put_string(&mut self.metadata, value);
    }

    pub(super) fn strings(&mut self, key: &str, values: &[String]) {
        self.array(key, 8, values.len());
        for value in values {
            put_string(&mut self.metadata, value);
        }
    }

    pub(super) fn i32s(&mut self, key: &str, values: &[i32]) {
        self.array(key, 5, values.len());
        for value in values {
            self.metadata.extend(value.to_le_bytes());
        }
    }

    /// Adds a tensor of 32-bit floats. `shape` has the fastest dimension first, everywhere in this file.
    pub(super) fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(name, shape, Storage::F32, &bytes);
    }

    /// Adds a matrix in blocks of a 16-bit scale and 32 signed bytes. A row that is `None` is all zeros.
    pub(super) fn q8_rows<'a>(
        &mut self,
        name: &str,
        shape: [usize; 2],
        rows: impl Iterator<Item = Option<&'a [f32]>>,
    ) {
        let row_bytes = shape[0] / BLOCK * (2 + BLOCK);
        let mut bytes = Vec::with_capacity(row_bytes * shape[1]);
        for row in rows {
            match row {
                Some(row) => row.chunks(BLOCK).for_each(|block| put_q8(&mut bytes, block)),
                None => bytes.resize(bytes.len() + row_bytes, 0),
            }
        }
        self.tensor(name, &shape, Storage::Q8_0, &bytes);
    }

    /// Adds random weights in blocks of a shared exponent (`2^(exponent - 127)`) and 32 nibbles.
    pub(super) fn random_mxfp4(&mut self, name: &str, shape: &[usize], exponent: u8, seed: &mut u64) {
        let blocks = shape.iter().product::<usize>() / BLOCK;
        let mut bytes = Vec::with_capacity(blocks * (1 + BLOCK / 2));
        for _ in 0..blocks {
            bytes.push(exponent);
            for _ in 0..BLOCK / 2 {
                *seed ^= *seed << 13;
                *seed ^= *seed >> 7;
                *seed ^= *seed << 17;
                bytes.push(seed.to_le_bytes()[0]);
            }
        }
        self.tensor(name, shape, Storage::Mxfp4, &bytes);
    }

    pub(super) fn save(self, path: &Path) -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(b"GGUF")?;
        file.write_all(&3u32.to_le_bytes())?;
        file.write_all(&self.tensor_count.to_le_bytes())?;
        file.write_all(&self.metadata_count.to_le_bytes())?;
        file.write_all(&self.metadata)?;
        file.write_all(&self.infos)?;
        let header = 24 + self.metadata.len() + self.infos.len();
        file.write_all(&vec![0; header.next_multiple_of(ALIGNMENT) - header])?;
        file.write_all(&self.data)?;
        file.flush()
    }

    fn key(&mut self, key: &str, kind: u32) {
        put_string(&mut self.metadata, key);
        self.metadata.extend(kind.to_le_bytes());
        self.metadata_count += 1;
    }

    fn array(&mut self, key: &str, kind: u32, length: usize) {
        self.key(key, 9);
        self.metadata.extend(kind.to_le_bytes());
        self.metadata.extend((length as u64).to_le_bytes());
    }

    fn tensor(&mut self, name: &str, shape: &[usize], storage: Storage, bytes: &[u8]) {
        put_string(&mut self.infos, name);
        self.infos.extend((shape.len() as u32).to_le_bytes());
        for dimension in shape {
            self.infos.extend((*dimension as u64).to_le_bytes());
        }
        self.infos.extend((storage as u32).to_le_bytes());
        self.infos.extend((self.data.len() as u64).to_le_bytes());
        self.data.extend(bytes);
        self.data.resize(self.data.len().next_multiple_of(ALIGNMENT), 0);
        self.tensor_count += 1;
    }
}

fn put_string(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}

fn put_q8(bytes: &mut Vec<u8>, block: &[f32]) {
    let scale = block.iter().fold(0f32, |largest, value| largest.max(value.abs())) / 127.0;
    bytes.extend(half(scale).to_le_bytes());
    for value in block {
        let quantised = if scale == 0.0 { 0 } else { (value / scale).round() as i8 };
        bytes.extend(quantised.to_le_bytes());
    }
}

/// Truncates a positive float to 16 bits.
fn half(value: f32) -> u16 {
    if value == 0.0 {
        return 0;
    }
    let bits = value.to_bits();
    let exponent = (bits >> 23) as i32 - 127 + 15;
    ((exponent as u16) << 10) | ((bits >> 13) & 0x3ff) as u16
}
