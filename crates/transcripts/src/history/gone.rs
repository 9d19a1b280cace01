//! Logs that no longer exist, read from their kept copies.

use super::{
    format::FormatSpec,
    kept::{KeptLog, ListedLog, ListedLogs, Unpacked, below},
    list::Folder,
    log::log_file::LogFile,
    logs::{History, Source},
    prompts::is_prompts_only,
    transcript::{Gone, GoneReason, Provider, Query, SessionFiles, Transcript},
};
use openagents_core::budget::Budget;
use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Where the files of a session are now.
pub(super) struct Located {
    pub(super) source: Source,
    newest: PathBuf,
    earlier: Vec<PathBuf>,
    /// Holds the files until they are opened.
    _unpacked: Option<Arc<Unpacked>>,
}

impl Located {
    pub(super) fn files(&self) -> SessionFiles<'_> {
        SessionFiles { newest: &self.newest, earlier: &self.earlier }
    }

    pub(super) fn format(&self) -> &'static FormatSpec {
        self.source.format
    }

    /// Returns the transcript with the paths of its files now.
    pub(super) fn moved(&self, transcript: &Transcript) -> Transcript {
        Transcript { file_path: self.newest.clone(), earlier: self.earlier.clone(), ..transcript.clone() }
    }
}

impl History {
    /// Finds the files of a session; unpacks its copy if its log no longer exists.
    pub(super) fn locate(&self, transcript: &Transcript) -> io::Result<Located> {
        let source = self.source(transcript)?;
        let located = Located {
            source,
            newest: transcript.file_path.clone(),
            earlier: transcript.earlier.clone(),
            _unpacked: None,
        };
        let Some(kept) = &self.kept else { return Ok(located) };
        // A session in a database is rows, not a file.
        let path = &transcript.file_path;
        if transcript.gone.is_none() && (path.exists() || path.parent().is_some_and(Path::is_file)) {
            return Ok(located);
        }
        let Some(unpacked) = kept.unpack(transcript.provider, &transcript.id)? else { return Ok(located) };
        let (from, to) = (&located.source.root, unpacked.root());
        let newest = below(&to, &located.newest, from);
        let earlier = located.earlier.iter().map(|path| below(&to, path, from)).collect();
        Ok(Located { newest, earlier, _unpacked: Some(unpacked), ..located })
    }

    /// Unpacks the copy of another log that no longer exists. Its files stay for a while.
    pub(super) fn unpacked_log(&self, source: &Source, id: &str) -> Option<LogFile> {
        let kept = self.kept.as_ref()?;
        let log = kept.of_agent(source.provider).into_iter().find(|log| log.file.id == id)?;
        let unpacked = kept.unpack(source.provider, id).ok()??;
        let moved = |path: &PathBuf| below(&unpacked.root(), path, &source.root);
        let (path, earlier) = (moved(&log.file.path), log.file.earlier.iter().map(moved).collect());
        Some(LogFile { path, earlier, ..log.file.clone() })
    }

    /// Adds the kept logs that were not found to the folders of their agents.
    pub(super) fn add_kept(&self, folders: &mut [Folder]) {
        let Some(kept) = &self.kept else { return };
        let mut found: HashMap<Provider, HashSet<&str>> = HashMap::new();
        for folder in folders.iter() {
            let ids = folder.files.iter().map(|file| file.id.as_str());
            found.entry(folder.source.provider).or_default().extend(ids);
        }
        let mut missing = Vec::new();
        for (provider, found) in &found {
            let logs = kept.of_agent(*provider);
            missing.extend(logs.into_iter().filter(|log| !found.contains(log.file.id.as_str())));
        }
        for log in missing {
            let is_of = |folder: &&mut Folder| {
                folder.source.provider == log.row.provider && folder.source.root == log.root
            };
            let Some(folder) = folders.iter_mut().find(is_of) else { continue };
            folder.files.push(log.file.clone());
            folder.kept.insert(log.file.path.clone(), log);
        }
    }

    /// Adds the sessions of which only prompts are left.
    pub(super) fn add_prompts(&self, folders: &mut [Folder]) {
        let mut known: HashMap<Provider, HashSet<String>> = HashMap::new();
        for folder in folders.iter() {
            let ids = folder.files.iter().map(|file| file.id.clone());
            known.entry(folder.source.provider).or_default().extend(ids);
        }
        for folder in folders {
            let known =
                known.get(&folder.source.provider).into_iter().flatten().map(String::as_str).collect();
            for (file, row) in self.prompts.sessions((folder.source.provider, &folder.source.root), &known) {
                folder.prompts.insert(file.path.clone(), row);
                folder.files.push(file);
            }
        }
    }

    /// Returns since when, in milliseconds since the epoch, a session's log has less than its agent wrote, or something else;
    /// its older versions are kept. `None` if it has only grown, or is not kept.
    pub fn replaced_at(&self, session: &Transcript) -> Option<i64> {
        self.kept.as_ref()?.replaced_at(session.provider, &session.id)
    }

    /// Returns whether the log of a session no longer exists, and why.
    pub(super) fn gone_log(&self, session: &Transcript) -> Option<Gone> {
        let path = &session.file_path;
        if is_prompts_only(path) {
            return Some(Gone { since: None, reason: GoneReason::PromptsOnly });
        }
        if path.exists() || path.parent().is_some_and(Path::is_file) {
            return None;
        }
        let kept = self.kept.as_ref()?.of_agent(session.provider);
        let log = kept.iter().find(|log| log.row.id == session.id)?;
        Some(log.gone.unwrap_or_default())
    }

    /// Returns the logs of an agent, or of all, with the rows of their sessions. Blocks.
    pub(crate) fn listed_logs_of(&self, provider: Option<Provider>, budget: &Budget) -> ListedLogs {
        let folders = self.discover(provider, budget);
        let query = Query { all: true, provider, ..Query::default() };
        let listing = self.rows_of(&folders, &query, budget);
        let files: HashMap<&Path, (&Folder, &LogFile)> = folders
            .iter()
            .flat_map(|folder| folder.files.iter().map(move |file| (file.path.as_path(), (folder, file))))
            .collect();
        let is_cut = listing.timed_out || budget.spent();
        let mut logs = ListedLogs { is_cut, ..ListedLogs::default() };
        for row in listing.rows.into_iter().filter(|row| row.gone.is_none()) {
            let Some((folder, file)) = files.get(row.file_path.as_path()) else { continue };
            // Stored without what the user's settings add to it.
            let row = Transcript { moved_to: None, ..row };
            let log = ListedLog { root: folder.source.root.clone(), file: (*file).clone(), row };
            if log.row.was_read() { logs.read.push(log) } else { logs.unread.push(log) }
        }
        logs
    }

    /// Reads the row of a session from its copy, without a log. Blocks.
    pub(crate) fn row_of_copy(&self, log: &KeptLog, budget: &Budget) -> Option<Transcript> {
        let source = Source::new(log.row.provider, log.root.clone());
        let copy = self.unpacked_log(&source, &log.file.id)?;
        let row = source.format.summarise(&copy, &|_| None, budget).row;
        Some(Transcript { file_path: log.file.path.clone(), earlier: log.file.earlier.clone(), ..row })
    }
}
