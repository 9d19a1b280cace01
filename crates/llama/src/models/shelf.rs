//! The models that there are: those of the catalog, the GGUF files in the folder, and files that were added.

use super::{
    catalog::{OFFERS, Offer},
    download,
    manifest::{FileRecord, Manifest},
};
use crate::gguf::{GgufError, Header};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Files of the folder at the most.
const FILES: usize = 1_000;
/// Characters of a name that a file gives itself.
const NAME_CHARS: usize = 80;

/// One model, downloaded or not.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// `gpt-oss-20b`, or made of the file's name.
    pub id: String,
    /// What people read.
    pub name: String,
    /// How to get it, for a model of the catalog.
    pub offer: Option<&'static Offer>,
    /// Where its file is, or would be.
    pub path: PathBuf,
    /// Its file, if there is one.
    pub file: Option<ModelFile>,
    /// Bytes that an unfinished download has, and those that it will have.
    pub unfinished: Option<(u64, u64)>,
}

/// A file as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFile {
    /// Its size.
    pub bytes: u64,
    /// What it says about itself, or why it cannot be used.
    pub header: Result<Header, GgufError>,
    /// What it has to be, if it was downloaded.
    pub record: Option<FileRecord>,
}

impl ModelFile {
    /// Returns why the file cannot be used, as far as its header and its size tell.
    pub fn fault(&self) -> Option<String> {
        if let Err(error) = &self.header {
            return Some(error.to_string());
        }
        let expected = self.record.as_ref()?.size_bytes;
        (expected != self.bytes)
            .then(|| format!("the file has {} bytes where {expected} belong; download it again", self.bytes))
    }
}

/// Lists models, and remembers headers of files that did not change.
#[derive(Debug, Default)]
pub struct Shelf {
    headers: BTreeMap<PathBuf, (Stamp, Result<Header, GgufError>)>,
}

/// Size and time of the last change: a file that has the same is the same.
type Stamp = (u64, Option<SystemTime>);

impl Shelf {
    /// Returns every model: those of the catalog first, then the others by name. `added` are files elsewhere.
    pub fn entries(&mut self, folder: &Path, added: &[PathBuf]) -> Vec<Entry> {
        let mut ids = BTreeSet::new();
        let mut entries = Vec::new();
        for offer in &OFFERS {
            ids.insert(offer.id.to_owned());
            let path = folder.join(offer.file);
            let unfinished = download::unfinished(&path);
            let (id, name) = (offer.id.to_owned(), offer.name.to_owned());
            let file = self.file(&path);
            entries.push(Entry { id, name, offer: Some(offer), path, file, unfinished });
        }
        let offered: BTreeSet<_> = entries.iter().map(|entry| entry.path.clone()).collect();
        let found = gguf_files(folder).into_iter().filter(|path| !offered.contains(path));
        let mut others = Vec::new();
        for path in found.chain(added.iter().filter(|path| !offered.contains(*path)).cloned()) {
            if others.iter().any(|other: &Entry| other.path == path) {
                continue;
            }
            let file = self.file(&path);
            let in_folder = path.parent() == Some(folder);
            if in_folder && file.as_ref().is_some_and(is_part_of_another) {
                continue;
            }
            let stem = path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default();
            let header = file.as_ref().and_then(|file| file.header.as_ref().ok());
            let name = header.and_then(|header| header.name.as_deref()).unwrap_or(&stem);
            let name = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS).collect();
            let id = unused(&id_of(&stem), &mut ids);
            others.push(Entry { id, name, offer: None, path, file, unfinished: None });
        }
        others.sort_by_cached_key(|entry| (entry.name.to_lowercase(), entry.id.clone()));
        entries.extend(others);
        self.headers.retain(|path, _| entries.iter().any(|entry| entry.path == *path));
        entries
    }

    fn file(&mut self, path: &Path) -> Option<ModelFile> {
        let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        let stamp = (about.len(), about.modified().ok());
        let known = self.headers.get(path).filter(|(known, _)| *known == stamp);
        let header = known.map_or_else(|| Header::read(path), |(_, header)| header.clone());
        self.headers.insert(path.to_owned(), (stamp, header.clone()));
        Some(ModelFile { bytes: stamp.0, header, record: Manifest::record_of(path) })
    }
}

fn is_part_of_another(file: &ModelFile) -> bool {
    matches!(file.header, Err(GgufError::NoModel { .. }))
}

fn gguf_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_gguf = |path: &PathBuf| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_gguf).take(FILES).collect();
    files.sort();
    files
}

/// `SmolLM2 135M.Q4_1` → `smollm2-135m.q4_1`: nothing that a shell would ask about.
fn id_of(stem: &str) -> String {
    let plain =
        |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c.to_ascii_lowercase() } else { '-' };
    let id: String = stem.chars().map(plain).take(NAME_CHARS).collect();
    let id = id.trim_matches('-');
    if id.is_empty() { "model".to_owned() } else { id.to_owned() }
}

fn unused(id: &str, ids: &mut BTreeSet<String>) -> String {
    let numbered = std::iter::once(id.to_owned()).chain((2..).map(|number| format!("{id}-{number}")));
    let free = numbered.into_iter().find(|id| !ids.contains(id)).unwrap_or_default();
    ids.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::testing::{Draft, Pair};

    #[test]
    fn the_catalog_comes_first_then_files_by_name() {
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
        let mut shelf = Shelf::default();
        let entries = shelf.entries(folder.path(), &added);
        let told: Vec<_> = entries
            .iter()
            .map(|entry| {
                let file = match &entry.file {
                    None => "no file",
                    Some(file) if file.fault().is_some() => "cannot be used",
                    Some(_) => "whole",
                };
                format!("{} · {} · {file}", entry.id, entry.name)
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
    gpt-oss-20b · GPTOSS 20B · no file
    gone · gone · no file
    notes · notes · cannot be used
    tiny-chat.q4 · Small[2J one · whole
    tiny-chat.q4-2 · Small[2J one · whole
    ");
        assert_eq!(shelf.entries(folder.path(), &added), entries);
    }

    #[test]
    fn a_file_that_changed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gguf");
        let mut shelf = Shelf::default();
        std::fs::write(&path, "text").unwrap();
        assert!(shelf.entries(folder.path(), &[])[1].file.as_ref().unwrap().fault().is_some());
        std::fs::write(&path, Draft::gpt_oss().bytes()).unwrap();
        assert_eq!(shelf.entries(folder.path(), &[])[1].file.as_ref().unwrap().fault(), None);
    }
}
