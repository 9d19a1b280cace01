//! Lists models: those of the catalog, GGUF files in the folder, and added files.

use super::{
    catalog::{OFFERS, Offer},
    download,
    manifest::{FileRecord, Manifest, hex},
};
use crate::{
    gguf::{GgufError, Header},
    limits::{FILES, NAME_CHARS},
};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::{Path, PathBuf},
    time::SystemTime,
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    /// `gpt-oss-20b`, or derived from the file name.
    pub(crate) id: String,
    pub(crate) name: String,
    /// The catalog entry, if it can be downloaded.
    pub(crate) offer: Option<&'static Offer>,
    /// The path of its file, which may not exist.
    pub(crate) path: PathBuf,
    pub(crate) file: Option<ModelFile>,
    /// Bytes received and total of an unfinished download.
    pub(crate) unfinished: Option<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelFile {
    pub(crate) bytes: u64,
    pub(crate) header: Result<Header, GgufError>,
    /// The expected properties, if it was downloaded.
    pub(crate) record: Option<FileRecord>,
}

impl ModelFile {
    /// Returns why the file is unusable, judging by its header and size.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Err(error) = &self.header {
            return Some(error.to_string());
        }
        let expected = self.record.as_ref()?.size_bytes;
        (expected != self.bytes)
            .then(|| format!("the file has {} bytes, expected {expected}; download it again", self.bytes))
    }
}

/// Lists models, with a cache of file headers.
#[derive(Debug, Default)]
pub(crate) struct ModelStore {
    headers: BTreeMap<PathBuf, (Stamp, Result<Header, GgufError>)>,
    /// Files whose names can't be shown; each is logged once.
    unnameable: BTreeSet<PathBuf>,
}

/// Size and modification time, which identify a version of a file.
type Stamp = (u64, Option<SystemTime>);

impl ModelStore {
    /// Returns all models: those of the catalog first, then the others by name. `added` are files elsewhere.
    pub(crate) fn entries(&mut self, folder: &Path, added: &[PathBuf]) -> Vec<Entry> {
        let mut entries = Vec::new();
        for offer in &OFFERS {
            let path = folder.join(offer.file);
            let unfinished = download::unfinished(&path);
            let (id, name) = (offer.id.to_owned(), offer.name.to_owned());
            let file = self.file(&path);
            entries.push(Entry { id, name, offer: Some(offer), path, file, unfinished });
        }
        let offered: BTreeSet<_> = entries.iter().map(|entry| entry.path.clone()).collect();
        let mut paths = gguf_files(folder);
        paths.extend(added.iter().cloned());
        let mut others: Vec<Entry> = Vec::new();
        for path in paths.into_iter().filter(|path| !offered.contains(path)) {
            if others.iter().any(|other| other.path == path) || !self.can_be_named(&path) {
                continue;
            }
            let file = self.file(&path);
            let stem = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
            let header = file.as_ref().and_then(|file| file.header.as_ref().ok());
            let name = header.and_then(|header| header.name.as_deref()).unwrap_or(&stem);
            let name = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
            let id = id_of(&stem);
            others.push(Entry { id, name, offer: None, path, file, unfinished: None });
        }
        make_ids_unique(&mut others);
        others.sort_by_cached_key(|entry| (entry.name.to_lowercase(), entry.id.clone()));
        entries.extend(others);
        self.headers.retain(|path, _| entries.iter().any(|entry| entry.path == *path));
        entries
    }

    /// File names are sent to clients as JSON, which requires UTF-8.
    fn can_be_named(&mut self, path: &Path) -> bool {
        let named = path.to_str().is_some();
        if !named && self.unnameable.insert(path.to_owned()) {
            tracing::warn!("skipped {}: its name is not UTF-8", path.display());
        }
        named
    }

    fn file(&mut self, path: &Path) -> Option<ModelFile> {
        let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let stamp = (about.len(), about.modified().ok());
        let known = self.headers.get(path).filter(|(known, _)| *known == stamp);
        let header = known.map_or_else(|| Header::from_file(path), |(_, header)| header.clone());
        self.headers.insert(path.to_owned(), (stamp, header.clone()));
        Some(ModelFile { bytes: stamp.0, header, record: Manifest::record_of(path) })
    }
}

fn gguf_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_gguf = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_gguf).take(FILES).collect();
    files.sort();
    files
}

/// `SmolLM2 135M.Q4_1` → `smollm2-135m.q4_1`: needs no quoting in a shell.
fn id_of(stem: &str) -> String {
    let plain =
        |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c.to_ascii_lowercase() } else { '-' };
    let id: String = stem.chars().map(plain).take(NAME_CHARS).collect();
    let id = id.trim_matches('-');
    if id.is_empty() { "model".to_owned() } else { id.to_owned() }
}

/// Makes duplicate ids unique by a suffix from the path, so that an id never moves to another file.
fn make_ids_unique(entries: &mut [Entry]) {
    let mut owners: BTreeMap<String, u32> = OFFERS.iter().map(|offer| (offer.id.to_owned(), 1)).collect();
    for entry in entries.iter() {
        *owners.entry(entry.id.clone()).or_default() += 1;
    }
    for entry in entries.iter_mut().filter(|entry| owners.get(&entry.id).is_some_and(|owners| *owners > 1)) {
        let hash = hex(&Sha256::digest(entry.path.as_os_str().as_encoded_bytes()));
        entry.id = format!("{}-{}", entry.id, hash.get(..8).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::testing::{Draft, Pair};

    fn hash(path: &Path) -> String {
        hex(&Sha256::digest(path.as_os_str().as_encoded_bytes()))[..8].to_owned()
    }

    #[test]
    fn entries_list_catalog_then_files_by_name() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let write = |folder: &Path, name: &str, draft: &Draft| {
            std::fs::write(folder.join(name), draft.bytes()).unwrap();
            folder.join(name)
        };
        let small = Draft::gpt_oss().with("general.name", Pair::Text("Small\u{1b}[2J one"));
        write(folder.path(), "Tiny Chat.Q4.gguf", &small);
        write(folder.path(), "adapter.gguf", &Draft::gpt_oss().with("general.type", Pair::Text("adapter")));
        std::fs::write(folder.path().join("notes.gguf"), "text").unwrap();
        std::fs::write(folder.path().join("notes.txt"), "text").unwrap();
        let added =
            [write(elsewhere.path(), "tiny-chat.q4.GGUF", &small), elsewhere.path().join("gone.gguf")];
        let mut store = ModelStore::default();
        let entries = store.entries(folder.path(), &added);
        let output: Vec<_> = entries
            .iter()
            .map(|entry| {
                let id = entry.id.strip_suffix(&hash(&entry.path)).map(|id| format!("{id}HASH"));
                let id = id.as_ref().unwrap_or(&entry.id);
                let file = match &entry.file {
                    None => "no file",
                    Some(file) if file.fault().is_some() => "cannot be used",
                    Some(_) => "whole",
                };
                format!("{id} · {} · {file}", entry.name)
            })
            .collect();
        insta::assert_snapshot!(output.join("\n"), @"
    gpt-oss-20b · GPTOSS 20B · no file
    adapter · adapter · cannot be used
    gone · gone · no file
    notes · notes · cannot be used
    tiny-chat.q4-HASH · Small[2J one · whole
    tiny-chat.q4-HASH · Small[2J one · whole
    ");
        assert_eq!(store.entries(folder.path(), &added), entries);
    }

    #[test]
    fn new_file_never_takes_existing_id() {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let added = ["b.gguf", "gpt-oss-20b.gguf"].map(|name| elsewhere.path().join(name));
        let by_id = |path: &Path| {
            let entries = ModelStore::default().entries(folder.path(), &added);
            entries.into_iter().find(|entry| entry.path == path).map(|entry| entry.id).unwrap()
        };
        assert_eq!(by_id(&added[0]), "b");
        let reserved = by_id(&added[1]);
        assert_eq!(reserved, format!("gpt-oss-20b-{}", hash(&added[1])));
        let other = folder.path().join("B.gguf");
        std::fs::write(&other, "text").unwrap();
        let with_another = [by_id(&added[0]), by_id(&other)];
        assert!(with_another.iter().all(|id| id != "b"), "{with_another:?}");
        std::fs::write(folder.path().join("A b.gguf"), "text").unwrap();
        assert_eq!([by_id(&added[0]), by_id(&other)], with_another);
        assert_eq!(by_id(&added[1]), reserved);
    }

    #[test]
    fn non_utf8_name_hides_only_its_file() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join(OsStr::from_bytes(b"odd\xff.gguf"));
        // Some file systems refuse such a name.
        if std::fs::write(&odd, Draft::gpt_oss().bytes()).is_ok() {
            std::fs::write(folder.path().join("b.gguf"), Draft::gpt_oss().bytes()).unwrap();
            let entries = ModelStore::default().entries(folder.path(), &[odd]);
            let ids: Vec<_> = entries.iter().map(|entry| entry.id.as_str()).collect();
            assert_eq!(ids, ["gpt-oss-20b", "b"]);
        }
    }

    #[test]
    fn changed_file_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gguf");
        let mut store = ModelStore::default();
        std::fs::write(&path, "text").unwrap();
        assert!(store.entries(folder.path(), &[])[1].file.as_ref().unwrap().fault().is_some());
        std::fs::write(&path, Draft::gpt_oss().bytes()).unwrap();
        assert_eq!(store.entries(folder.path(), &[])[1].file.as_ref().unwrap().fault(), None);
    }
}
