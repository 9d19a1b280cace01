//! A download, new or resumed, up to a verified file.

use super::{
    catalog::Offer,
    manifest::{self, FileRecord, Manifest, VerifyError, delete, read_json, sibling, write_json},
    remote::{Remote, RemoteError, RemoteFile},
};
use crate::{
    limits::{PROGRESS, SPEED_WINDOW},
    machine,
};
use openagents_core::CancellationToken;
use reqwest::{Response, StatusCode, header};
use serde::{Deserialize, Serialize};
use std::{
    collections::VecDeque,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Retries of a broken connection. Every received byte resets the count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) attempts: u32,
    /// Pause before the second attempt, doubled for each further one.
    pub(crate) pause: Duration,
}

impl Default for Patience {
    /// Six attempts within half a minute, enough for a laptop that wakes up.
    fn default() -> Self {
        Self { attempts: 6, pause: Duration::from_secs(1) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DownloadError {
    /// It was stopped; partial data is kept.
    #[error("the download was stopped")]
    Stopped,
    #[error("another OpenAgents program is downloading {0}; wait for it or stop it")]
    Busy(&'static str),
    #[error("{0}")]
    Disk(String),
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The file differs from the listing, even after the listing was read again.
    #[error("{0} changed on the server during the download; download it again later")]
    Changed(&'static str),
    #[error("{0} was damaged in transit and deleted; download it again")]
    Damaged(&'static str),
    #[error("{}: {}", .0.display(), .1)]
    Folder(PathBuf, String),
}

/// Returns the bytes received and the total of an unfinished download.
pub(crate) fn unfinished(whole: &Path) -> Option<(u64, u64)> {
    Partial::for_file(whole).resumable().map(|(origin, done)| (done, origin.file.size))
}

/// Deletes an unfinished download, unless another program is working on it.
pub(crate) fn discard(offer: &Offer, folder: &Path) -> Result<(), DownloadError> {
    let partial = Partial::for_file(&folder.join(offer.file));
    if !folder.exists() {
        return Ok(());
    }
    let in_folder = |error: io::Error| DownloadError::Folder(partial.whole.clone(), error.to_string());
    let _lock = partial.lock().map_err(in_folder)?.ok_or(DownloadError::Busy(offer.name))?;
    partial.discard().map_err(in_folder)
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Destination<'a> {
    pub(crate) folder: &'a Path,
    /// Whether to replace an existing file, which is known to be damaged. It is kept until the new one is verified.
    pub(crate) replace: bool,
}

/// Downloads a model; blocks. Returns the path of the verified file.
pub(crate) fn download(
    remote: &Remote,
    offer: &Offer,
    Destination { folder, replace }: Destination<'_>,
    patience: Patience,
    stop: &CancellationToken,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, DownloadError> {
    let in_folder = |error: io::Error| DownloadError::Folder(folder.to_owned(), error.to_string());
    std::fs::create_dir_all(folder).map_err(in_folder)?;
    let partial = Partial::for_file(&folder.join(offer.file));
    let _lock = partial.lock().map_err(in_folder)?.ok_or(DownloadError::Busy(offer.name))?;
    if !replace && partial.is_finished() {
        return Ok(partial.whole);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(in_folder)?;
    let mut transfer = Transfer {
        remote,
        offer,
        partial: &partial,
        patience,
        stop,
        report: ProgressMeter::new(on_progress),
    };
    let outcome = runtime.block_on(transfer.run());
    // A pending DNS lookup must not block the return.
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
    report: ProgressMeter<'a>,
}

impl Transfer<'_> {
    async fn run(&mut self) -> Result<RemoteFile, DownloadError> {
        let outcome = self.attempt().await;
        if outcome.as_ref().is_err_and(|error| *error != DownloadError::Stopped) && self.bytes_done() == 0 {
            self.discard()?;
        }
        outcome
    }

    async fn attempt(&mut self) -> Result<RemoteFile, DownloadError> {
        let mut origin = match self.partial.resumable() {
            Some((origin, _)) if self.remote.serves(&origin.file, self.offer) => origin,
            found => self.resolve(found.map(|(origin, _)| origin.file)).await?,
        };
        let mut resolved_again = false;
        loop {
            self.check_disk(&origin)?;
            let Err(error) = self.fetch(&mut origin).await else { return Ok(origin.file) };
            let may_be_outdated = match &error {
                DownloadError::Changed(_) => true,
                // The commit of the first attempt may no longer exist.
                DownloadError::Remote(RemoteError::Refused { .. }) => self.bytes_done() > 0,
                _ => false,
            };
            if resolved_again || !may_be_outdated {
                return Err(error);
            }
            resolved_again = true;
            origin = self.resolve(Some(origin.file)).await?;
        }
    }

    /// Reads the listing. Partial data of the same file is kept: its hash is compared at the end.
    async fn resolve(&mut self, before: Option<RemoteFile>) -> Result<Origin, DownloadError> {
        let mut failures = 0;
        let file = loop {
            let answer = tokio::select! {
                () = self.stop.cancelled() => return Err(DownloadError::Stopped),
                answer = self.remote.resolve(self.offer) => answer,
            };
            match answer {
                Ok(file) => break file,
                Err(error) => self.wait_to_retry(error, &mut failures).await?,
            }
        };
        let is_same = before.is_some_and(|before| (before.size, &before.sha256) == (file.size, &file.sha256));
        let origin = Origin { file, etag: None };
        let written =
            if is_same { self.partial.rename(&origin) } else { self.partial.begin(&origin).map(drop) };
        written.map_err(|error| self.disk_error(&error))?;
        Ok(origin)
    }

    fn check_disk(&self, origin: &Origin) -> Result<(), DownloadError> {
        let done = self.partial.resumable().map_or(0, |(_, done)| done);
        let folder = self.partial.whole.parent().unwrap_or(Path::new("."));
        let refusal =
            machine::disk_free(folder).and_then(|free| machine::check_disk(origin.file.size, done, free));
        refusal.map_or(Ok(()), |reason| Err(DownloadError::Disk(reason)))
    }

    async fn fetch(&mut self, origin: &mut Origin) -> Result<(), DownloadError> {
        let mut failures = 0;
        loop {
            let before = self.bytes_done();
            if before == origin.file.size {
                return Ok(());
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
                Err(DownloadError::Remote(error)) => {
                    let done = self.bytes_done();
                    if done > before {
                        failures = 0;
                    }
                    self.report.bytes_at_rest(done, origin.file.size);
                    self.wait_to_retry(error, &mut failures).await?;
                }
                ended => return ended,
            }
        }
    }

    /// Appends the response to the partial data, after checking that it fits.
    async fn receive(
        &mut self,
        mut response: Response,
        from: u64,
        origin: &mut Origin,
    ) -> Result<(), DownloadError> {
        let name = self.offer.name;
        let changed = || Err(DownloadError::Changed(name));
        let etag =
            response.headers().get(header::ETAG).and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let is_other = |etag: &str| origin.etag.as_deref().is_some_and(|known| known != etag);
        if etag.as_deref().is_some_and(is_other) {
            return changed();
        }
        let size = origin.file.size;
        let length = response.content_length();
        let mut done = match response.status() {
            StatusCode::PARTIAL_CONTENT if content_range(&response) == Some((from, size)) => from,
            // The server ignores the range or restarts.
            StatusCode::OK if length == Some(size) || (from == 0 && length.is_none()) => 0,
            _ => return changed(),
        };
        let mut file = if done == 0 {
            origin.etag = etag;
            self.partial.begin(origin)
        } else {
            self.partial.append()
        }
        .map_err(|error| self.disk_error(&error))?;
        loop {
            let chunk = tokio::select! {
                () = self.stop.cancelled() => return Err(DownloadError::Stopped),
                chunk = response.chunk() => chunk.map_err(|error| self.remote.unreachable(&error))?,
                () = tokio::time::sleep(PROGRESS) => {
                    self.report.bytes(done, size);
                    continue;
                }
            };
            let Some(chunk) = chunk else { break };
            if done + chunk.len() as u64 > size {
                return changed();
            }
            file.write_all(&chunk).map_err(|error| self.disk_error(&error))?;
            done += chunk.len() as u64;
            self.report.bytes(done, size);
        }
        if done == size { Ok(()) } else { Err(self.remote.ended_early().into()) }
    }

    /// Waits before the next attempt, longer each time; fails when the attempts are used up.
    async fn wait_to_retry(&self, error: RemoteError, failures: &mut u32) -> Result<(), DownloadError> {
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

    fn finish(&mut self, file: &RemoteFile) -> Result<(), DownloadError> {
        let record = FileRecord {
            name: self.offer.file.to_owned(),
            size_bytes: file.size,
            sha256: file.sha256.clone(),
        };
        let report = &mut self.report;
        match manifest::verify(self.partial.data(), &record, self.stop, &mut |share| report.verifying(share))
        {
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
        self.partial.finish(&manifest).map_err(|error| self.disk_error(&error))
    }

    fn discard(&self) -> Result<(), DownloadError> {
        self.partial.discard().map_err(|error| self.disk_error(&error))
    }

    fn bytes_done(&self) -> u64 {
        std::fs::metadata(self.partial.data()).map_or(0, |about| about.len())
    }

    fn disk_error(&self, error: &io::Error) -> DownloadError {
        if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            let missing = self
                .partial
                .resumable()
                .map_or(self.offer.pin.bytes, |(origin, done)| origin.file.size - done);
            return DownloadError::Disk(machine::disk_full(missing));
        }
        DownloadError::Folder(self.partial.whole.clone(), error.to_string())
    }
}

/// The first byte and the total size from `Content-Range: bytes 5-9/10`.
fn content_range(response: &Response) -> Option<(u64, u64)> {
    let range = response.headers().get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (bytes, size) = range.split_once('/')?;
    Some((bytes.split_once('-')?.0.parse().ok()?, size.parse().ok()?))
}

/// The origin of a partial file. A resumed download requests exactly this file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) file: RemoteFile,
    /// The server's ETag of these bytes.
    pub(super) etag: Option<String>,
}

/// An unfinished download on disk: `NAME.partial`, and a file with its origin.
#[derive(Debug, Clone)]
pub(super) struct Partial {
    pub(super) whole: PathBuf,
    data: PathBuf,
    origin: PathBuf,
    lock: PathBuf,
}

impl Partial {
    pub(super) fn for_file(whole: &Path) -> Self {
        Self {
            whole: whole.to_owned(),
            data: sibling(whole, ".partial"),
            origin: sibling(whole, ".partial.json"),
            lock: sibling(whole, ".lock"),
        }
    }

    /// Locks the download against other processes until the result is dropped; `None` if it is locked.
    pub(super) fn lock(&self) -> io::Result<Option<File>> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.lock)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns whether the file exists along with its manifest, which is written after verification.
    pub(super) fn is_finished(&self) -> bool {
        let record = Manifest::record_of(&self.whole);
        let bytes = std::fs::metadata(&self.whole).map(|about| about.len());
        record.zip(bytes.ok()).is_some_and(|(record, bytes)| record.size_bytes == bytes)
    }

    pub(super) fn resumable(&self) -> Option<(Origin, u64)> {
        let origin: Origin = read_json(&self.origin)?;
        let done = std::fs::metadata(&self.data).ok()?.len();
        (origin.file.is_sound() && done <= origin.file.size).then_some((origin, done))
    }

    pub(super) fn begin(&self, origin: &Origin) -> io::Result<File> {
        // Deletes the old bytes first, so that they never belong to the new origin.
        let data = File::create(&self.data)?;
        write_json(&self.origin, origin)?;
        Ok(data)
    }

    /// Keeps the bytes, which belong to the same file with another URL or ETag.
    pub(super) fn rename(&self, origin: &Origin) -> io::Result<()> {
        write_json(&self.origin, origin)
    }

    pub(super) fn append(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.data)
    }

    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// Deletes the partial data. The caller must hold the lock.
    pub(super) fn discard(&self) -> io::Result<()> {
        delete(&self.data)?;
        delete(&self.origin)
    }

    pub(super) fn finish(&self, manifest: &Manifest) -> io::Result<()> {
        File::open(&self.data)?.sync_all()?;
        manifest.write(&self.whole)?;
        std::fs::rename(&self.data, &self.whole)?;
        std::fs::remove_file(&self.origin)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Progress {
    Bytes {
        done: u64,
        total: u64,
        /// Bytes per second, averaged over the last seconds.
        per_second: u64,
    },
    /// The hash is being computed, 0.0 to 1.0.
    Verifying(f32),
}

pub(super) struct ProgressMeter<'a> {
    rate: Rate,
    last: Option<Instant>,
    on_progress: &'a mut dyn FnMut(Progress),
}

impl<'a> ProgressMeter<'a> {
    pub(super) fn new(on_progress: &'a mut dyn FnMut(Progress)) -> Self {
        Self { rate: Rate::default(), last: None, on_progress }
    }

    pub(super) fn bytes(&mut self, done: u64, total: u64) {
        if self.is_due() || done == total {
            self.bytes_at_rest(done, total);
        }
    }

    /// Reports the bytes before a wait without further reports.
    pub(super) fn bytes_at_rest(&mut self, done: u64, total: u64) {
        let per_second = self.rate.push(Instant::now(), done);
        (self.on_progress)(Progress::Bytes { done, total, per_second });
    }

    pub(super) fn verifying(&mut self, share: f32) {
        if self.is_due() {
            (self.on_progress)(Progress::Verifying(share));
        }
    }

    fn is_due(&mut self) -> bool {
        let due = self.last.is_none_or(|last| last.elapsed() >= PROGRESS);
        if due {
            self.last = Some(Instant::now());
        }
        due
    }
}

#[derive(Debug, Default)]
struct Rate {
    samples: VecDeque<(Instant, u64)>,
}

impl Rate {
    fn push(&mut self, now: Instant, done: u64) -> u64 {
        self.samples.push_back((now, done));
        while self.samples.len() > 2
            && self.samples.front().is_some_and(|(then, _)| now - *then > SPEED_WINDOW)
        {
            self.samples.pop_front();
        }
        let Some((then, before)) = self.samples.front() else { return 0 };
        let millis = u64::try_from((now - *then).as_millis()).unwrap_or(u64::MAX);
        (done.saturating_sub(*before).saturating_mul(1_000)).checked_div(millis).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rate_averages_last_seconds() {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let mut rate = Rate::default();
        assert_eq!(rate.push(at(0), 0), 0);
        assert_eq!(rate.push(at(1_000), 500), 500);
        assert_eq!(rate.push(at(2_000), 2_000), 1_000);
        assert_eq!(rate.push(at(60_000), 2_000), 0);
        assert_eq!(rate.push(at(61_000), 4_000), 2_000);
    }
}
