//! A download from its beginning, or from where it was left, to a verified file.

pub use super::progress::Progress;
use super::{
    catalog::Offer,
    manifest::{FileRecord, Manifest},
    partial::{Origin, Partial},
    progress::{REPORT, Report},
    remote::{Remote, RemoteError, RemoteFile},
    verify::{self, VerifyError},
};
use crate::machine;
use openagents_core::CancellationToken;
use reqwest::{Response, StatusCode, header};
use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

/// How often a broken connection is tried again. Every byte that comes starts the count anew.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Attempts without a byte.
    pub attempts: u32,
    /// Before the second attempt; twice as long before each one that follows.
    pub pause: Duration,
}

impl Default for Patience {
    /// Six attempts within half a minute, as a laptop that wakes up needs.
    fn default() -> Self {
        Self { attempts: 6, pause: Duration::from_secs(1) }
    }
}

/// Why there is no file yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DownloadError {
    /// Somebody stopped it; what is there stays.
    #[error("the download was stopped")]
    Stopped,
    /// Another program is at it.
    #[error("another OpenAgents program is downloading {0}; wait for it or stop it")]
    Busy(&'static str),
    /// The disk is too full, or became full.
    #[error("{0}")]
    Disk(String),
    /// The server.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// What comes is not the file of the listing, even after the listing was read again.
    #[error("{0} changed on the server while it was downloaded; download it again later")]
    Changed(&'static str),
    /// What came is not what the listing said.
    #[error("{0} was damaged on the way and was thrown away; download it again")]
    Damaged(&'static str),
    /// The folder cannot be written.
    #[error("{}: {}", .0.display(), .1)]
    Folder(PathBuf, String),
}

/// Returns the bytes that an unfinished download has, and those that it will have.
pub fn unfinished(whole: &Path) -> Option<(u64, u64)> {
    Partial::of(whole).found().map(|(origin, done)| (done, origin.file.size))
}

/// Deletes what an unfinished download has, unless another program is at it.
pub fn discard(offer: &Offer, folder: &Path) -> Result<(), DownloadError> {
    let partial = Partial::of(&folder.join(offer.file));
    if !folder.exists() {
        return Ok(());
    }
    let in_folder = |error: io::Error| DownloadError::Folder(partial.whole.clone(), error.to_string());
    let _lock = partial.lock().map_err(in_folder)?.ok_or(DownloadError::Busy(offer.name))?;
    partial.discard().map_err(in_folder)
}

/// Where a download goes, and what it finds there.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// The folder of the models.
    pub folder: &'a Path,
    /// A file that is there is known to be wrong. It stays until the new one was verified.
    pub replace: bool,
}

/// Downloads a model; blocks. Returns the path of the file, whose hash was compared.
pub fn download(
    remote: &Remote,
    offer: &Offer,
    Destination { folder, replace }: Destination<'_>,
    patience: Patience,
    stop: &CancellationToken,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, DownloadError> {
    let in_folder = |error: io::Error| DownloadError::Folder(folder.to_owned(), error.to_string());
    std::fs::create_dir_all(folder).map_err(in_folder)?;
    let partial = Partial::of(&folder.join(offer.file));
    let _lock = partial.lock().map_err(in_folder)?.ok_or(DownloadError::Busy(offer.name))?;
    if !replace && partial.is_finished() {
        return Ok(partial.whole);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(in_folder)?;
    let mut transfer =
        Transfer { remote, offer, partial: &partial, patience, stop, report: Report::new(on_progress) };
    let outcome = runtime.block_on(transfer.run());
    // A name that is still being looked up keeps nobody waiting.
    runtime.shutdown_background();
    transfer.finish(&outcome?)?;
    Ok(partial.whole)
}

struct Transfer<'a> {
    remote: &'a Remote,
    offer: &'a Offer,
    partial: &'a Partial,
    patience: Patience,
    stop: &'a CancellationToken,
    report: Report<'a>,
}

/// How one answer of the server ended.
enum Step {
    /// All bytes are there.
    Whole,
    /// What is on the server is not what we have a part of.
    Changed,
}

impl Transfer<'_> {
    async fn run(&mut self) -> Result<RemoteFile, DownloadError> {
        let outcome = self.attempt().await;
        if outcome.as_ref().is_err_and(|error| *error != DownloadError::Stopped) && self.done() == 0 {
            self.discard()?;
        }
        outcome
    }

    async fn attempt(&mut self) -> Result<RemoteFile, DownloadError> {
        let mut origin = match self.partial.found() {
            Some((origin, _)) if self.remote.serves(&origin.file) => origin,
            found => self.resolve(found.map(|(origin, _)| origin.file)).await?,
        };
        let mut resolved_again = false;
        loop {
            self.check_disk(&origin)?;
            let error = match self.fetch(&mut origin).await {
                Ok(Step::Whole) => return Ok(origin.file),
                Ok(Step::Changed) => DownloadError::Changed(self.offer.name),
                Err(error) => error,
            };
            let may_be_outdated = match &error {
                DownloadError::Changed(_) => true,
                // The commit that was begun with may be gone.
                DownloadError::Remote(RemoteError::Refused { .. }) => self.done() > 0,
                _ => false,
            };
            if resolved_again || !may_be_outdated {
                return Err(error);
            }
            resolved_again = true;
            origin = self.resolve(Some(origin.file)).await?;
        }
    }

    /// Asks the server what the file is now. Bytes of the same file are kept: their hash is compared at the end.
    async fn resolve(&mut self, before: Option<RemoteFile>) -> Result<Origin, DownloadError> {
        let mut failures = 0;
        let file = loop {
            let answer = tokio::select! {
                () = self.stop.cancelled() => return Err(DownloadError::Stopped),
                answer = self.remote.resolve(self.offer) => answer,
            };
            match answer {
                Ok(file) => break file,
                Err(error) => self.wait(error, &mut failures).await?,
            }
        };
        let is_same = before.is_some_and(|before| (before.size, &before.sha256) == (file.size, &file.sha256));
        let origin = Origin { file, etag: None };
        let written =
            if is_same { self.partial.rename(&origin) } else { self.partial.begin(&origin).map(drop) };
        written.map_err(|error| self.folder(&error))?;
        Ok(origin)
    }

    fn check_disk(&self, origin: &Origin) -> Result<(), DownloadError> {
        let done = self.partial.found().map_or(0, |(_, done)| done);
        let folder = self.partial.whole.parent().unwrap_or(Path::new("."));
        let refusal =
            machine::disk_free(folder).and_then(|free| machine::to_download(origin.file.size, done, free));
        refusal.map_or(Ok(()), |reason| Err(DownloadError::Disk(reason)))
    }

    async fn fetch(&mut self, origin: &mut Origin) -> Result<Step, DownloadError> {
        let mut failures = 0;
        loop {
            let before = self.done();
            if before == origin.file.size {
                return Ok(Step::Whole);
            }
            let piece = tokio::select! {
                () = self.stop.cancelled() => return Err(DownloadError::Stopped),
                opened = self.remote.open(&origin.file, before, origin.etag.as_deref()) => opened,
            };
            let outcome = match piece {
                Ok(response) => self.receive(response, before, origin).await,
                Err(error) => Err(error.into()),
            };
            match outcome {
                Ok(step) => return Ok(step),
                Err(DownloadError::Remote(error)) => {
                    let done = self.done();
                    if done > before {
                        failures = 0;
                    }
                    self.report.bytes_at_rest(done, origin.file.size);
                    self.wait(error, &mut failures).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes what the server sends behind what is there, once it is sure that it belongs there.
    async fn receive(
        &mut self,
        mut response: Response,
        from: u64,
        origin: &mut Origin,
    ) -> Result<Step, DownloadError> {
        let etag =
            response.headers().get(header::ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let is_other = |etag: &str| origin.etag.as_deref().is_some_and(|known| known != etag);
        if etag.as_deref().is_some_and(is_other) {
            return Ok(Step::Changed);
        }
        let size = origin.file.size;
        let length = response.content_length();
        let mut done = match response.status() {
            StatusCode::PARTIAL_CONTENT if content_range(&response) == Some((from, size)) => from,
            // The server does not know ranges, or begins anew for a reason of its own.
            StatusCode::OK if length == Some(size) || (from == 0 && length.is_none()) => 0,
            _ => return Ok(Step::Changed),
        };
        let mut file = if done == 0 {
            origin.etag = etag;
            self.partial.begin(origin)
        } else {
            self.partial.append()
        }
        .map_err(|error| self.folder(&error))?;
        loop {
            let chunk = tokio::select! {
                () = self.stop.cancelled() => return Err(DownloadError::Stopped),
                chunk = response.chunk() => chunk.map_err(|error| self.remote.unreachable(&error))?,
                () = tokio::time::sleep(REPORT) => {
                    self.report.bytes(done, size);
                    continue;
                }
            };
            let Some(chunk) = chunk else { break };
            if done + chunk.len() as u64 > size {
                return Ok(Step::Changed);
            }
            self.write(&mut file, &chunk)?;
            done += chunk.len() as u64;
            self.report.bytes(done, size);
        }
        if done == size { Ok(Step::Whole) } else { Err(self.remote.ended_early().into()) }
    }

    fn write(&self, file: &mut File, bytes: &[u8]) -> Result<(), DownloadError> {
        file.write_all(bytes).map_err(|error| self.folder(&error))
    }

    /// Waits before the next attempt, longer each time; gives up when there were enough.
    async fn wait(&self, error: RemoteError, failures: &mut u32) -> Result<(), DownloadError> {
        *failures += 1;
        if !error.may_pass() || *failures >= self.patience.attempts {
            return Err(error.into());
        }
        tracing::info!("download of {}: {error}; attempt {}", self.offer.id, *failures + 1);
        let pause = self.patience.pause.saturating_mul(1 << (*failures - 1).min(5));
        tokio::select! {
            () = self.stop.cancelled() => Err(DownloadError::Stopped),
            () = tokio::time::sleep(pause) => Ok(()),
        }
    }

    /// Compares the hash, and only then gives the file its name.
    fn finish(&mut self, file: &RemoteFile) -> Result<(), DownloadError> {
        let record = FileRecord {
            name: self.offer.file.to_owned(),
            size_bytes: file.size,
            sha256: file.sha256.clone(),
        };
        let report = &mut self.report;
        match verify::verify(self.partial.data(), &record, self.stop, &mut |share| report.verifying(share)) {
            Ok(()) => {}
            Err(VerifyError::Stopped) => return Err(DownloadError::Stopped),
            Err(VerifyError::Unreadable(reason)) => {
                return Err(DownloadError::Folder(self.partial.data().to_owned(), reason));
            }
            Err(_) => {
                self.discard()?;
                return Err(DownloadError::Damaged(self.offer.name));
            }
        }
        let manifest = Manifest {
            model_id: self.offer.id.to_owned(),
            version: file.commit.clone(),
            files: vec![record],
            created_at: jiff::Timestamp::now().to_string(),
        };
        self.partial.finish(&manifest).map_err(|error| self.folder(&error))
    }

    fn discard(&self) -> Result<(), DownloadError> {
        self.partial.discard().map_err(|error| self.folder(&error))
    }

    fn done(&self) -> u64 {
        std::fs::metadata(self.partial.data()).map_or(0, |about| about.len())
    }

    fn folder(&self, error: &io::Error) -> DownloadError {
        if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            let missing =
                self.partial.found().map_or(self.offer.about_bytes, |(origin, done)| origin.file.size - done);
            return DownloadError::Disk(machine::disk_full(missing));
        }
        DownloadError::Folder(self.partial.whole.clone(), error.to_string())
    }
}

/// First byte and size of the whole, out of `Content-Range: bytes 5-9/10`.
fn content_range(response: &Response) -> Option<(u64, u64)> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (bytes, size) = range.split_once('/')?;
    Some((bytes.split_once('-')?.0.parse().ok()?, size.parse().ok()?))
}
