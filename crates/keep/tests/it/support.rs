use openagents_keep::{Captured, CopyStore, Damage, KeepError, Sealing};
use std::{
    fs::{self, File},
    path::Path,
};

/// Captures the bytes as the newest state of a file.
pub(crate) fn capture(store: &CopyStore, collection: i64, name: &str, bytes: &[u8], seals: bool) -> Captured {
    let mut sealing = seals.then(|| store.seal().unwrap());
    let captured = try_capture(store, collection, name, bytes, sealing.as_mut()).unwrap();
    if let Some(sealing) = sealing {
        sealing.finish().unwrap();
    }
    if captured == (Captured::Rewritten { before_stays: false }) {
        store.drop_contained(collection, name).unwrap();
    }
    captured
}

pub(crate) fn try_capture(
    store: &CopyStore,
    collection: i64,
    name: &str,
    bytes: &[u8],
    sealing: Option<&mut Sealing<'_>>,
) -> Result<Captured, KeepError> {
    let source = tempfile::NamedTempFile::new().unwrap();
    fs::write(source.path(), bytes).unwrap();
    store.capture(
        collection,
        name,
        &mut File::open(source.path()).unwrap(),
        1,
        sealing.map(|sealing| (sealing, 0)),
    )
}

/// Returns the newest version of a file, or an older one.
pub(crate) fn read(store: &CopyStore, collection: i64, name: &str, back: usize) -> Vec<u8> {
    let files = store.files(collection, true).unwrap();
    let version = files.iter().rev().filter(|file| file.name == name).nth(back).unwrap();
    let mut bytes = Vec::new();
    assert_eq!(store.write_to(version.version, &mut bytes).unwrap(), Damage::default());
    assert_eq!(bytes.len() as u64, version.length);
    bytes
}

/// Returns whether any file of the folder has the text, compressed or not.
pub(crate) fn holds(folder: &Path, text: &[u8]) -> bool {
    fn files(folder: &Path) -> Vec<Vec<u8>> {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .flat_map(|path| if path.is_dir() { files(&path) } else { vec![fs::read(path).unwrap()] })
            .collect()
    }
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    files(folder).iter().any(|bytes| {
        // Packs are concatenated frames.
        let content = zstd::stream::decode_all(&bytes[..]).unwrap_or_default();
        has(bytes) || has(&content)
    })
}

/// Returns a line of a log with a message of some length, which `at` makes unique.
pub(crate) fn line(at: usize, message: &str) -> String {
    format!("{{\"at\":{at},\"message\":{{\"role\":\"user\",\"content\":\"{message}\"}},\"id\":{at}}}\n")
}

pub(crate) fn noise(seed: u64, length: usize) -> String {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..length).map(|_| random.alphanumeric()).collect()
}
