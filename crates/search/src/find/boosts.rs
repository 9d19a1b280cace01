//! Boosts files that matching sessions touched, and files edited since the last commit or checkout: users ask about
//! their current work.

use super::scan::Scan;
use crate::recall::Recall;
use openagents_core::{text::cut_at_word, update::Finding};
use std::collections::HashMap;

//
// Git is not run, because it executes programs that a repository configures (filters, a file system monitor). File
// times are nearly equivalent; edits made before the last commit but not committed are missed.

/// Boost of a file edited by the best matching session.
const SESSION_EDITED: f32 = 0.25;
/// Boost of a file that the best matching session only read.
const SESSION_READ: f32 = 0.1;
/// Boost of an edited file; not tuned, because the benchmark projects are not repositories.
const EDITED: f32 = 0.1;

/// Maximum number of edited files to boost; if there are more, a program wrote them.
const BY_HAND: usize = 100;

/// Maximum length of a title in a reason, in characters.
const TITLE: usize = 60;

/// Score factor and addition to the reason, by path.
#[derive(Debug)]
pub(super) struct Boosts(HashMap<String, (f32, String)>);

impl Boosts {
    pub(super) fn new(scan: &Scan, recalled: &Recall) -> Self {
        let edited = scan.files.iter().filter(|file| file.is_written_since && scan.written_since <= BY_HAND);
        let note = "; written since the last commit or checkout";
        let mut boosts: HashMap<String, (f32, String)> =
            edited.map(|file| (file.path.clone(), (1.0 + EDITED, note.to_owned()))).collect();
        for file in &recalled.files {
            let (factor, note) = boosts.entry(file.path.clone()).or_insert((1.0, String::new()));
            *factor *= 1.0 + file.score * if file.edited { SESSION_EDITED } else { SESSION_READ };
            if let Some(title) = &file.session {
                note.push_str(&format!("; touched by the session “{}”", cut_at_word(title, TITLE)));
            }
        }
        Self(boosts)
    }

    pub(super) fn factor(&self, path: &str) -> f32 {
        self.0.get(path).map_or(1.0, |(factor, _)| *factor)
    }

    pub(super) fn explain(&self, finding: &mut Finding) {
        if let Some((_, note)) = finding.path().and_then(|path| self.0.get(path)) {
            finding.why.push_str(note);
        }
    }
}
