//! Downloads and verifications: one thread each, one transfer per model at a time.

use super::{
    Inner,
    commands::refused,
    state::{Run, Transfer, VERIFIED, Work},
};
use crate::models::{
    catalog::Offer,
    download::{self, Destination, DownloadError, Progress},
    manifest::{self, FileRecord, VerifyError},
    model_store::Entry,
    remote::Remote,
};
use openagents_core::{CancellationToken, model::LocalModelsError};
use std::sync::Arc;

type Outcome = Result<(), LocalModelsError>;

impl Inner {
    pub(super) fn download(self: &Arc<Self>, id: &str, accept_licence: bool) -> Outcome {
        let entry = self.state().entry(id)?.clone();
        let name = &entry.name;
        let offer = entry
            .offer
            .ok_or_else(|| refused(format!("{name} is a file of yours; there is nothing to download")))?;
        match (self.transfer_of(id), &entry.file) {
            (Some(Work::Downloading { .. }), _) => return Ok(()),
            (Some(_), _) => return Err(refused(format!("{name} is being verified; wait for it"))),
            (None, Some(file))
                if file.fault().is_none() && self.state().saved.verified.get(id) != Some(&false) =>
            {
                return Err(refused(format!("{name} is already downloaded")));
            }
            (None, _) => {}
        }
        self.accept_licence(offer, accept_licence)?;
        self.start_download(entry, offer)
    }

    pub(super) fn pause(&self, id: &str) -> Outcome {
        let name = self.state().entry(id)?.name.clone();
        match self.transfer_of(id) {
            Some(Work::Downloading { .. } | Work::Verifying(_)) => self.stop_transfer(id),
            _ => return Err(refused(format!("{name} is not being downloaded"))),
        }
        self.refresh();
        Ok(())
    }

    pub(super) fn cancel_download(&self, id: &str) -> Outcome {
        let entry = self.state().entry(id)?.clone();
        if self.transfer_of(id).is_none() && entry.unfinished.is_none() {
            return Err(refused(format!("{} is not being downloaded", entry.name)));
        }
        self.stop_transfer(id);
        if let Some(offer) = entry.offer {
            let kept = |error: DownloadError| refused(error.to_string());
            download::discard(offer, &self.config.folder).map_err(kept)?;
        }
        self.refresh();
        Ok(())
    }

    pub(super) fn verify(self: &Arc<Self>, id: &str) -> Outcome {
        let entry = self.idle_entry(id)?;
        let name = &entry.name;
        let file = entry.file.as_ref().ok_or_else(|| refused(format!("{name} has no file to verify")))?;
        file.header.as_ref().map_err(|error| refused(error.to_string()))?;
        let record = file.record.clone().ok_or_else(|| {
            refused(format!(
                "{name} was not downloaded by this program, so there is no hash to compare it with"
            ))
        })?;
        self.start_transfer(id, Work::Verifying(0.0), move |inner, stop, number| {
            inner.run_verification(&entry, &record, stop, number).map_or(Work::None, Work::Failed)
        })
    }

    pub(super) fn repair(self: &Arc<Self>, id: &str) -> Outcome {
        let entry = self.idle_entry(id)?;
        let offer = entry.offer.ok_or_else(|| {
            refused(format!("{} was not downloaded by this program; copy or download it again", entry.name))
        })?;
        self.accept_licence(offer, false)?;
        if !matches!(self.state().run(&entry), Run::Out | Run::Failed(_)) {
            return Err(refused(format!("{} is loaded; unload it first", entry.name)));
        }
        match entry.file.as_ref().and_then(|file| file.record.clone()) {
            Some(record) => self.start_transfer(id, Work::Verifying(0.0), move |inner, stop, number| {
                match inner.run_verification(&entry, &record, stop, number) {
                    None => Work::None,
                    Some(_) => inner.run_download(&entry, offer, stop, number),
                }
            }),
            None => self.start_download(entry, offer),
        }
    }

    /// Cancels the transfer of a model and waits for its end, within milliseconds.
    pub(super) fn stop_transfer(&self, id: &str) {
        let transfer = self.change(|state| state.transfers.remove(id));
        if let Some(Transfer { stop, thread, .. }) = transfer {
            stop.cancel();
            if thread.is_some_and(|thread| thread.join().is_err()) {
                tracing::warn!("the thread that downloaded {id} has panicked");
            }
        }
    }

    fn accept_licence(&self, offer: &Offer, accept: bool) -> Outcome {
        let accepted = self.state().saved.settings.accepted_licences.iter().any(|id| id == offer.id);
        if accepted {
            return Ok(());
        }
        if !accept {
            return Err(LocalModelsError::Licence {
                model: offer.name.to_owned(),
                licence: offer.licence.to_owned(),
                url: offer.licence_url.to_owned(),
            });
        }
        self.save(|settings| settings.accepted_licences.push(offer.id.to_owned()))
    }

    fn start_download(self: &Arc<Self>, entry: Entry, offer: &'static Offer) -> Outcome {
        let (done, total) = entry.unfinished.unwrap_or((0, 0));
        let work = Work::Downloading { done, total, per_second: 0 };
        let id = entry.id.clone();
        self.start_transfer(&id, work, move |inner, stop, number| {
            inner.run_download(&entry, offer, stop, number)
        })
    }

    fn run_download(&self, entry: &Entry, offer: &Offer, stop: &CancellationToken, number: u64) -> Work {
        let to = Destination { folder: &self.config.folder, replace: entry.file.is_some() };
        let remote = match &self.config.server {
            Some(server) => Remote::new(server),
            None => Remote::from_env(),
        };
        let mut report = |progress| {
            let work = match progress {
                Progress::Bytes { done, total, per_second } => Work::Downloading { done, total, per_second },
                Progress::Verifying(share) => Work::Verifying(share),
            };
            self.set_work(&entry.id, number, work);
        };
        let outcome = remote.map_err(DownloadError::from).and_then(|remote| {
            download::download(&remote, offer, to, self.config.patience, stop, &mut report)
        });
        match outcome {
            Ok(_) => {
                self.note_verified(&entry.id, Some(true));
                Work::None
            }
            Err(DownloadError::Stopped) => Work::None,
            Err(error) => Work::Failed(error.to_string()),
        }
    }

    fn run_verification(
        &self,
        entry: &Entry,
        record: &FileRecord,
        stop: &CancellationToken,
        number: u64,
    ) -> Option<String> {
        let mut shown = 0;
        let outcome = manifest::verify(&entry.path, record, stop, &mut |share| {
            let percent = (share * 100.0) as u32;
            if percent != shown {
                shown = percent;
                self.set_work(&entry.id, number, Work::Verifying(share));
            }
        });
        match outcome {
            Err(VerifyError::Stopped) => None,
            outcome => {
                self.note_verified(&entry.id, Some(outcome.is_ok()));
                outcome.err().map(|error| error.to_string())
            }
        }
    }

    fn idle_entry(&self, id: &str) -> Result<Entry, LocalModelsError> {
        let entry = self.state().entry(id)?.clone();
        match self.transfer_of(id) {
            None => Ok(entry),
            Some(_) => Err(refused(format!("{} is being downloaded or verified; wait for it", entry.name))),
        }
    }

    /// Runs `work` on a thread; its result stays on the card.
    fn start_transfer(
        self: &Arc<Self>,
        id: &str,
        first: Work,
        work: impl FnOnce(&Self, &CancellationToken, u64) -> Work + Send + 'static,
    ) -> Outcome {
        self.stop_transfer(id);
        let stop = CancellationToken::new();
        let number = self.change(|state| {
            let number = state.next_transfer;
            state.next_transfer += 1;
            let transfer = Transfer { work: first, number, stop: stop.clone(), thread: None };
            state.transfers.insert(id.to_owned(), transfer);
            number
        });
        let (inner, owner) = (self.clone(), id.to_owned());
        let run = move || {
            let last = work(&inner, &stop, number);
            inner.refresh();
            inner.set_work(&owner, number, last);
        };
        match std::thread::Builder::new().name("model-transfer".to_owned()).spawn(run) {
            Ok(thread) => {
                let mut state = self.state();
                if let Some(transfer) =
                    state.transfers.get_mut(id).filter(|transfer| transfer.number == number)
                {
                    transfer.thread = Some(thread);
                }
                Ok(())
            }
            Err(error) => {
                self.change(|state| state.transfers.remove(id));
                Err(refused(format!("no thread for the download: {error}")))
            }
        }
    }

    pub(super) fn note_verified(&self, id: &str, verified: Option<bool>) {
        let kept = self.update_saved(&VERIFIED, |all| {
            match verified {
                Some(verified) => all.insert(id.to_owned(), verified),
                None => all.remove(id),
            };
            Ok(())
        });
        if let Err(error) = kept {
            tracing::warn!("{error}");
        }
    }

    fn set_work(&self, id: &str, number: u64, work: Work) {
        self.change(|state| {
            if let Some(transfer) = state.transfers.get_mut(id).filter(|transfer| transfer.number == number) {
                transfer.work = work;
            }
        });
    }
}
