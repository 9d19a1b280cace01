//! A repository's description of itself: its manifest's description and the first sentence of its README.

mod manifest;
mod readme;

pub use crate::repository::readme::Description;
pub(crate) use crate::repository::readme::{Paragraph, first_sentence};

use openagents_core::{
    text::one_line,
    workspace::{self, Workspace},
};
use std::{io::Read, path::Path};

/// Bytes read of a manifest or README.
const FILE: u64 = 64 << 10;

/// README names in order of preference; compared case-insensitively.
const README_NAMES: [&str; 7] =
    ["readme.md", "readme.markdown", "readme", "readme.rst", "readme.txt", "readme.adoc", "readme.org"];

/// A repository's description of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repository {
    /// Name from the README's heading or the manifest.
    pub name: Option<String>,
    /// One sentence with its location.
    pub description: Option<Description>,
    /// The first paragraphs of prose of the README.
    pub(crate) paragraphs: Vec<Paragraph>,
    pub readme: Option<String>,
    pub manifest: Option<String>,
}

impl Repository {
    /// Reads the top folder of a workspace. Unreadable files count as absent.
    pub fn scan(workspace: &Workspace) -> Self {
        let names = top_names(workspace);
        let find = |wanted: &str| names.iter().find(|name| name.eq_ignore_ascii_case(wanted)).cloned();
        let readme = README_NAMES.iter().find_map(|name| find(name));
        let manifest =
            manifest::NAMES.iter().find_map(|name| names.iter().find(|found| found == name).cloned());
        let declared = manifest
            .as_deref()
            .map(|path| manifest::parse(&text_of(workspace, path), path))
            .unwrap_or_default();
        let name = declared.name.clone().unwrap_or_else(|| unversioned(workspace.name()).to_owned());
        let introduction =
            readme.as_deref().map(|path| readme::parse(&text_of(workspace, path), path, Some(&name)));
        let introduction = introduction.unwrap_or_default();
        Self {
            name: introduction.heading.or(declared.name),
            // A README's introduction is written for people; a manifest's description is better than a slogan.
            description: if introduction.introduces {
                introduction.sentence.or(declared.description)
            } else {
                declared.description.or(introduction.sentence)
            },
            paragraphs: introduction.paragraphs,
            readme,
            manifest,
        }
    }
}

/// Returns the names of the entries at the root of a workspace, sorted.
pub fn top_names(workspace: &Workspace) -> Vec<String> {
    let entries = workspace.open_dir(Path::new(".")).ok().and_then(|dir| dir.entries().ok());
    let entries = entries.into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// Returns the first paragraphs of prose of a README.
pub(crate) fn paragraphs(workspace: &Workspace, path: &str) -> Vec<Paragraph> {
    readme::parse(&text_of(workspace, path), path, None).paragraphs
}

/// Returns the name of a folder without a version: `flask` for `flask-3.1`.
pub(crate) fn unversioned(name: &str) -> &str {
    let versioned =
        name.rsplit_once('-').filter(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit()));
    versioned.map_or(name, |(name, _)| name)
}

/// Returns the first sentence of prose in a Markdown text, without markup and terminal control characters.
pub fn first_prose(markdown: &str) -> Option<String> {
    let sentence = readme::parse(markdown, "", None).sentence?.text;
    Some(without_controls(&sentence)).filter(|clean| !clean.is_empty())
}

/// Returns foreign text as one line without markup and terminal control characters.
pub fn plain(text: &str) -> String {
    without_controls(text).chars().filter(|c| !"`*[]<>".contains(*c)).collect()
}

fn without_controls(text: &str) -> String {
    // Direction marks are removed as well.
    let turns =
        |c: char| matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    one_line(&text.replace(turns, ""))
}

/// Returns the beginning of a file; empty if it is unreadable.
pub(crate) fn text_of(workspace: &Workspace, path: &str) -> String {
    let mut bytes = Vec::new();
    if let Ok(opened) = workspace.open_file(Path::new(path)) {
        // A truncated file still has a usable beginning.
        let _ = opened.file.take(FILE).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&workspace::decoded(bytes)).into_owned()
}
