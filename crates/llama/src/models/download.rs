//! A download from its beginning, or from where it was left, to a verified file.

pub use super::progress::Progress;
use super::{
    catalog::Offer,
    manifest::{FileRecord, Manifest},
    partial::{Origin, Partial},
    progress::Report,
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
    /// The disk is too full.
    #[error("{0}")]
    Disk(String),
    /// The server.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The file is another one than at the beginning, and again after a second beginning.
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

/// Deletes what an unfinished download has.
pub fn discard(whole: &Path) -> io::Result<()> {
    Partial::of(whole).discard()
}

/// Downloads a model into a folder; blocks. Returns the path of the file, whose hash was compared.
pub fn download(
    remote: &Remote,
    offer: &Offer,
    folder: &Path,
    patience: Patience,
    stop: &CancellationToken,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, DownloadError> {
    let in_folder = |error: io::Error| DownloadError::Folder(folder.to_owned(), error.to_string());
    std::fs::create_dir_all(folder).map_err(in_folder)?;
    let partial = Partial::of(&folder.join(offer.file));
    let _lock = partial.lock().map_err(in_folder)?.ok_or(DownloadError::Busy(offer.name))?;
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
        // A change is worth one new beginning.
        for _ in 0..2 {
            let resumed = self.done() > 0;
            let origin = self.origin().await?;
            self.check_disk(&origin)?;
            match self.fetch(origin).await {
                Ok((file, Step::Whole)) => return Ok(file),
                Ok((_, Step::Changed)) => {}
                // The commit that was begun with may be gone.
                Err(DownloadError::Remote(RemoteError::Refused { .. })) if resumed => {}
                Err(error) => {
                    if error != DownloadError::Stopped && self.done() == 0 {
                        self.discard()?;
                    }
                    return Err(error);
                }
            }
            self.discard()?;
        }
        Err(DownloadError::Changed(self.offer.name))
    }

    /// What was begun goes on; else the server is asked.
    async fn origin(&mut self) -> Result<Origin, DownloadError> {
        if let Some((origin, _)) = self.partial.found()
            && self.remote.serves(&origin.file)
        {
            return Ok(origin);
        }
        let mut failures = 0;
        loop {
            let answer = tokio::select! {
                () = self.stop.cancelled() => return Err(DownloadError::Stopped),
                answer = self.remote.resolve(self.offer) => answer,
            };
            match answer {
                Ok(file) => {
                    let origin = Origin { file, etag: None };
                    self.partial.begin(&origin).map_err(|error| self.folder(&error))?;
                    return Ok(origin);
                }
                Err(error) => self.wait(error, &mut failures).await?,
            }
        }
    }

    fn check_disk(&self, origin: &Origin) -> Result<(), DownloadError> {
        let done = self.partial.found().map_or(0, |(_, done)| done);
        let folder = self.partial.whole.parent().unwrap_or(Path::new("."));
        let refusal =
            machine::disk_free(folder).and_then(|free| machine::to_download(origin.file.size, done, free));
        refusal.map_or(Ok(()), |reason| Err(DownloadError::Disk(reason)))
    }

    async fn fetch(&mut self, mut origin: Origin) -> Result<(RemoteFile, Step), DownloadError> {
        let mut failures = 0;
        loop {
            let before = self.done();
            if before == origin.file.size {
                return Ok((origin.file, Step::Whole));
            }
            let piece = tokio::select! {
                () = self.stop.cancelled() => return Err(DownloadError::Stopped),
                opened = self.remote.open(&origin.file, before, origin.etag.as_deref()) => opened,
            };
            let outcome = match piece {
                Ok(response) => self.receive(response, before, &mut origin).await,
                Err(error) => Err(error.into()),
            };
            match outcome {
                Ok(step) => return Ok((origin.file, step)),
                Err(DownloadError::Remote(error)) => {
                    if self.done() > before {
                        failures = 0;
                    }
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
        let mut done = match response.status() {
            StatusCode::PARTIAL_CONTENT if content_range(&response) == Some((from, size)) => from,
            // The server does not know ranges, or begins anew for a reason of its own.
            StatusCode::OK if response.content_length().is_none_or(|length| length == size) => 0,
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
        DownloadError::Folder(self.partial.whole.clone(), error.to_string())
    }
}

/// First byte and size of the whole, out of `Content-Range: bytes 5-9/10`.
fn content_range(response: &Response) -> Option<(u64, u64)> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (bytes, size) = range.split_once('/')?;
    Some((bytes.split_once('-')?.0.parse().ok()?, size.parse().ok()?))
}
