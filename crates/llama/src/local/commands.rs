//! Commands from the user.

use super::{
    Inner,
    state::{ADDED, Run, SETTINGS, State, Work},
};
use crate::{
    gguf::Header,
    limits::SHUTDOWN,
    models::{
        catalog::GPT_OSS_20B,
        download::{self, DownloadError},
        manifest::{Manifest, delete},
        model_store::Entry,
    },
};
use openagents_core::{
    CancellationToken,
    model::{LocalModelsError, ModelCommand, ModelSettings, SettingsChange},
};
use std::{
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

type Outcome = Result<(), LocalModelsError>;

impl Inner {
    pub(super) fn command(self: &Arc<Self>, command: ModelCommand) -> Outcome {
        if self.state().closed {
            return Err(refused("OpenAgents is shutting down"));
        }
        self.refresh();
        match command {
            ModelCommand::Download { id, accept_licence } => self.download(&id, accept_licence),
            ModelCommand::Pause { id } => self.pause(&id),
            ModelCommand::CancelDownload { id } => self.cancel_download(&id),
            ModelCommand::Verify { id } => self.verify(&id),
            ModelCommand::Repair { id } => self.repair(&id),
            ModelCommand::Remove { id } => self.remove(&id),
            ModelCommand::Add { path } => self.add(&path),
            ModelCommand::Use { id } => self.use_model(&id),
            ModelCommand::Load => self.load_now(),
            ModelCommand::Unload => self.unload_now(),
            ModelCommand::Configure { settings: change } => self.configure(&change),
        }
    }

    fn remove(&self, id: &str) -> Outcome {
        let entry = self.state().entry(id)?.clone();
        let name = &entry.name;
        if self.config.model_file.as_ref() == Some(&entry.path) {
            return Err(refused(format!("{name} is the file this program was started with; quit it first")));
        }
        let run = self.state().run(&entry);
        // Held until the file is deleted: otherwise a new prompt loads it again.
        let turn = self.turns.try_turn();
        match (&turn, run) {
            (_, Run::Out) => {}
            (Some(_), _) => self.unload(),
            (None, Run::Loading(_)) => {
                return Err(refused(format!("{name} is being loaded; unload it first")));
            }
            (None, _) => return Err(refused(format!("{name} is answering; stop the answer first"))),
        }
        self.stop_transfer(id);
        if entry.path.parent() == Some(&self.config.folder) {
            let gone = |error: io::Error| refused(format!("{}: {error}", entry.path.display()));
            if let Some(offer) = entry.offer {
                let busy = |error: DownloadError| refused(error.to_string());
                download::discard(offer, &self.config.folder).map_err(busy)?;
            }
            delete(&entry.path).map_err(gone)?;
            delete(&Manifest::path_of(&entry.path)).map_err(gone)?;
        }
        // An added file may be in the folder by now.
        if self.state().saved.added.contains(&entry.path) {
            self.update_saved(&ADDED, |added| {
                added.retain(|path| *path != entry.path);
                Ok(())
            })?;
        }
        if self.state().chosen() == id {
            self.save(|settings| settings.model = None)?;
        }
        self.note_verified(id, None);
        self.refresh();
        Ok(())
    }

    fn add(&self, path: &Path) -> Outcome {
        let unreadable = |error: io::Error| refused(format!("{}: {error}", path.display()));
        let path = std::fs::canonicalize(path).map_err(unreadable)?;
        if path.to_str().is_none() {
            return Err(refused(name_not_utf8(&path)));
        }
        Header::from_file(&path).map_err(|error| refused(error.to_string()))?;
        let folder = std::fs::canonicalize(&self.config.folder);
        let in_folder = folder.is_ok_and(|folder| path.parent() == Some(&folder));
        if !in_folder && !self.state().saved.added.contains(&path) {
            self.update_saved(&ADDED, |added| {
                added.push(path.clone());
                Ok(())
            })?;
        }
        self.refresh();
        // The first file that is added becomes the model in use.
        let answers = |state: &State| {
            let entry = state.in_use(self.config.model_file.as_deref());
            entry.is_some_and(|entry| entry.file.is_some() || entry.unfinished.is_some())
        };
        let added = {
            let state = self.state();
            let is_it = |entry: &&Entry| std::fs::canonicalize(&entry.path).is_ok_and(|known| known == path);
            let entry = state.entries.iter().find(is_it).map(|entry| entry.id.clone());
            entry.filter(|_| !answers(&state))
        };
        added.map_or(Ok(()), |id| self.use_model(&id))
    }

    fn use_model(&self, id: &str) -> Outcome {
        let entry = self.state().entry(id)?.clone();
        if let Some(pinned) = &self.config.model_file
            && *pinned != entry.path
        {
            let pinned = pinned.display();
            return Err(refused(format!(
                "this program was started with {pinned}; restart it without this file to choose another one"
            )));
        }
        match &entry.file {
            Some(file) => file.fault().map_or(Ok(()), |fault| Err(refused(fault)))?,
            None if entry.offer.is_some() => {}
            None => return Err(refused(format!("{} no longer exists", entry.path.display()))),
        }
        self.save(|settings| settings.model = (id != GPT_OSS_20B.id).then(|| id.to_owned()))?;
        // A model that is answering is kept: the next request switches models.
        let other = self.state().engine.path.as_ref().is_some_and(|path| *path != entry.path);
        if other && let Some(_turn) = self.turns.try_turn() {
            self.unload();
        }
        Ok(())
    }

    fn load_now(self: &Arc<Self>) -> Outcome {
        self.check(&self.config.machine.get()).map_err(refused)?;
        let inner = self.clone();
        let load = move || {
            let cancel = CancellationToken::new();
            let Some(turn) = inner.turns.wait_for_turn(&cancel, || {}) else { return };
            match inner.load(&turn, &cancel, |_| {}) {
                Ok(_) => inner.unload_unused(&turn),
                Err(error) => tracing::warn!("the model was not loaded: {error}"),
            }
        };
        let spawned = std::thread::Builder::new().name("model-load".to_owned()).spawn(load);
        spawned
            .map(drop)
            .map_err(|error| refused(format!("could not start a thread to load the model: {error}")))
    }

    fn unload_now(&self) -> Outcome {
        let (run, loading) = {
            let state = self.state();
            (state.engine.run.clone(), state.engine.loading.clone())
        };
        match run {
            Run::Generating => Err(refused("the model is answering; stop the answer first")),
            Run::Loading(_) => {
                loading.cancel();
                Ok(())
            }
            Run::Out | Run::Ready | Run::Failed(_) => {
                let busy = || refused("the model is about to answer; stop the answer first");
                let _turn = self.turns.try_turn().ok_or_else(busy)?;
                self.unload();
                Ok(())
            }
        }
    }

    fn configure(&self, change: &SettingsChange) -> Outcome {
        self.update_saved(&SETTINGS, |settings| settings.change(change).map_err(LocalModelsError::Refused))
    }

    pub(super) fn save(&self, change: impl FnOnce(&mut ModelSettings)) -> Outcome {
        self.update_saved(&SETTINGS, |settings| {
            change(settings);
            Ok(())
        })
    }

    pub(super) fn shut_down(&self) {
        let transfers = self.change(|state| {
            state.closed = true;
            state.engine.loading.cancel();
            std::mem::take(&mut state.transfers)
        });
        transfers.values().for_each(|transfer| transfer.stop.cancel());
        let until = Instant::now() + SHUTDOWN;
        let threads = transfers.into_values().filter_map(|transfer| transfer.thread);
        for thread in threads {
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        self.unload();
    }

    pub(super) fn transfer_of(&self, id: &str) -> Option<Work> {
        let work = self.state().work(id);
        matches!(work, Work::Downloading { .. } | Work::Verifying(_)).then_some(work)
    }
}

pub(super) fn refused(reason: impl Into<String>) -> LocalModelsError {
    LocalModelsError::Refused(reason.into())
}

pub(super) fn name_not_utf8(path: &Path) -> String {
    format!("{}: give the file a name in UTF-8 first", path.display())
}
