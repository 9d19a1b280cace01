//! Answers prompts: checks the model, loads it if needed, and records its figures.

use super::{
    Inner, Local,
    commands::name_not_utf8,
    state::{LAST_USED, OnDisk, Run, Turn, Work, demand},
};
use crate::{
    LoadRequest, Loaded,
    machine::{self, MachineFacts},
    models::{catalog::GPT_OSS_20B, model_store::Entry},
};
use openagents_core::{
    CancellationToken,
    agent_ids::LOCAL_MODEL,
    model::{
        Activity, Availability, Capabilities, LanguageModel, ModelError, ModelEvent, ModelRequest,
        StopReason, Usage,
    },
};
use std::time::Instant;

impl LanguageModel for Local {
    fn id(&self) -> &str {
        LOCAL_MODEL
    }

    fn name(&self) -> String {
        let state = self.inner.state();
        let in_use = state.in_use(self.inner.config.model_file.as_deref());
        in_use.map_or(GPT_OSS_20B.name, |entry| &entry.name).to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        let state = self.inner.state();
        let entry = state.in_use(self.inner.config.model_file.as_deref());
        let loaded = entry.is_some_and(|entry| matches!(state.run(entry), Run::Ready | Run::Generating));
        let header = entry.and_then(|entry| entry.file.as_ref()?.header.as_ref().ok());
        // Once the model is loaded, the engine knows; before that, guess from the template.
        let reported = loaded.then(|| self.inner.config.engine.loaded()).flatten().map(|loaded| loaded.tools);
        let tools = reported.unwrap_or_else(|| {
            header.is_some_and(|header| {
                let template = header.chat_template.as_deref().unwrap_or_default();
                header.architecture == "gpt-oss" || template.contains("tools")
            })
        });
        Capabilities { tools, local: true, loaded }
    }

    fn context_tokens(&self) -> Option<u32> {
        self.inner.config.engine.loaded().map(|loaded| loaded.context_tokens)
    }

    fn availability(&self) -> Availability {
        self.inner.refresh();
        match self.inner.check(&self.inner.config.machine.get()) {
            Ok(()) => Availability::Ready,
            Err(reason) => Availability::Unavailable(reason),
        }
    }

    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let asked = Instant::now();
        let mut last = None;
        let waiting = || {
            // The current turn may be loading the model this one waits for.
            let now = match self.inner.state().engine.run {
                Run::Loading(progress) => Activity::Loading { progress },
                _ => Activity::Waiting,
            };
            if last.replace(now) != Some(now) {
                on_event(ModelEvent::Activity(now));
            }
        };
        let turn = self.inner.turns.wait_for_turn(cancel, waiting).ok_or(ModelError::Cancelled)?;
        self.inner.respond(&turn, request, cancel, asked, on_event)
    }
}

impl Inner {
    fn respond(
        &self,
        turn: &Turn<'_>,
        request: &ModelRequest,
        cancel: &CancellationToken,
        asked: Instant,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        let loading = |progress| on_event(ModelEvent::Activity(Activity::Loading { progress }));
        let id = self.load(turn, cancel, loading)?;
        self.change(|state| state.engine.run = Run::Generating);
        let (mut first, mut figures) = (None, None);
        let result = self.config.engine.generate(request, cancel, &mut |event| match event {
            ModelEvent::Usage(usage) => {
                let first: Instant = first.unwrap_or_else(Instant::now);
                let first_token_ms = u32::try_from((first - asked).as_millis()).unwrap_or(u32::MAX);
                let usage = Usage { first_token_ms, ..usage };
                figures = Some(usage);
                on_event(ModelEvent::Usage(usage));
            }
            event => {
                if !matches!(event, ModelEvent::Activity(Activity::Waiting | Activity::ReadingPrompt { .. }))
                {
                    first.get_or_insert_with(Instant::now);
                }
                on_event(event);
            }
        });
        self.record_answer(&id, figures, result.as_ref().err());
        self.unload_unused(turn);
        result
    }

    /// Loads the model in use unless it is loaded; returns its id.
    pub(super) fn load(
        &self,
        turn: &Turn<'_>,
        cancel: &CancellationToken,
        mut on_progress: impl FnMut(f32),
    ) -> Result<String, ModelError> {
        self.refresh();
        self.config.engine.settle(cancel)?;
        self.unload_unused(turn);
        let loaded = self.config.engine.loaded();
        let entry = self.usable_entry().map_err(ModelError::Unavailable)?;
        if loaded.is_some_and(|loaded| loaded.path == entry.path) {
            return Ok(entry.id);
        }
        let stop = cancel.child_token();
        self.change(|state| {
            if state.closed {
                stop.cancel();
            }
            state.engine.run = Run::Loading(0.0);
            state.engine.path = Some(entry.path.clone());
            state.engine.loading = stop.clone();
        });
        on_progress(0.0);
        let result = self.load_file(&entry, &stop, &mut |share| {
            self.change(|state| state.engine.run = Run::Loading(share));
            on_progress(share);
        });
        if result.is_err() {
            // The process may still be running, perhaps with the model.
            self.config.engine.unload();
        }
        let memory_bytes = self.config.engine.memory_bytes();
        let now = self.config.clock.get();
        self.change(|state| {
            state.engine.since = now;
            state.engine.run = match &result {
                Ok(_) => Run::Ready,
                Err(ModelError::Cancelled) => Run::Out,
                Err(error) => Run::Failed(error.to_string()),
            };
            state.engine.memory_bytes = memory_bytes;
            state.engine.context_tokens = result.as_ref().ok().map(|loaded| loaded.context_tokens);
        });
        match result {
            Ok(_) => Ok(entry.id),
            Err(ModelError::Cancelled) if !cancel.is_cancelled() => {
                Err(ModelError::Failed(format!("{} was unloaded while loading; try again", entry.name)))
            }
            Err(error) => Err(error),
        }
    }

    fn load_file(
        &self,
        entry: &Entry,
        stop: &CancellationToken,
        on_progress: &mut dyn FnMut(f32),
    ) -> Result<Loaded, ModelError> {
        let machine = self.facts_for_load(stop)?;
        self.check(&machine).map_err(ModelError::Unavailable)?;
        let demand =
            demand(entry).ok_or_else(|| ModelError::Unavailable("the file no longer exists".to_owned()))?;
        let context_tokens = machine::context_tokens(&demand, &machine, self.config.context);
        let load = LoadRequest { path: entry.path.clone(), context_tokens, threads: None };
        self.config.engine.load(&load, stop, on_progress)
    }

    /// Shows why a requested load failed, unless the state of the file already does.
    pub(super) fn show_load_failure(&self, reason: String) {
        tracing::info!("the model is not loaded: {reason}");
        self.change(|state| {
            let entry = state.in_use(self.config.model_file.as_deref());
            let path = entry.filter(|entry| state.on_disk(entry) == OnDisk::Whole).map(|entry| &entry.path);
            if let Some(path) = path.cloned() {
                state.engine.path = Some(path);
                state.engine.run = Run::Failed(reason);
            }
        });
    }

    /// Unloads a model that is no longer in use, and notices one whose process has exited.
    pub(super) fn unload_unused(&self, _turn: &Turn<'_>) {
        let loaded = self.config.engine.loaded();
        let unused = {
            let state = self.state();
            let in_use = state.in_use(self.config.model_file.as_deref()).map(|entry| &entry.path);
            match loaded {
                Some(loaded) => Some(&loaded.path) != in_use,
                None => state.engine.run == Run::Ready,
            }
        };
        if unused {
            self.unload();
        }
    }

    /// Unloads the model. The caller must hold the turn.
    pub(super) fn unload(&self) {
        self.config.engine.unload();
        self.set_unloaded(Run::Out);
    }

    pub(super) fn set_unloaded(&self, run: Run) {
        self.change(|state| {
            state.engine.run = run;
            state.engine.memory_bytes = None;
            state.engine.context_tokens = None;
        });
    }

    fn record_answer(&self, id: &str, figures: Option<Usage>, error: Option<&ModelError>) {
        let loaded = self.config.engine.loaded().is_some();
        let memory_bytes = self.config.engine.memory_bytes();
        let now = self.config.clock.get();
        self.change(|state| {
            state.engine.since = now;
            state.engine.run = match error {
                Some(error @ ModelError::Crashed(_)) => Run::Failed(error.to_string()),
                _ if loaded => Run::Ready,
                Some(error) => Run::Failed(error.to_string()),
                None => Run::Out,
            };
            state.engine.memory_bytes = memory_bytes.filter(|_| loaded);
            if let Some(usage) = figures {
                state.usage.insert(id.to_owned(), usage);
            }
        });
        let kept = self.update_saved(&LAST_USED, |all| {
            all.insert(id.to_owned(), jiff::Timestamp::now().as_millisecond());
            Ok(())
        });
        if let Err(error) = kept {
            tracing::warn!("{error}");
        }
    }

    /// llama.cpp's report about the GPU is better than our estimate.
    fn facts_for_load(&self, stop: &CancellationToken) -> Result<MachineFacts, ModelError> {
        let devices = self.config.engine.devices(stop)?;
        let machine = self.config.machine.get();
        let gpu = devices.iter().filter(|device| device.gpu).map(|device| device.memory_free).max();
        Ok(MachineFacts { device_memory: gpu.filter(|free| *free > 0).or(machine.device_memory), ..machine })
    }

    /// Returns why the model in use cannot answer: one sentence without a full stop.
    pub(super) fn check(&self, machine: &MachineFacts) -> Result<(), String> {
        let entry = self.usable_entry()?;
        if matches!(self.state().run(&entry), Run::Ready | Run::Generating) {
            return Ok(());
        }
        let demand = demand(&entry).ok_or_else(|| format!("{} has no file", entry.name))?;
        // The current model is unloaded before this one is loaded.
        let memory_free = machine.memory_free.saturating_add(self.state().engine.memory_bytes.unwrap_or(0));
        let machine = MachineFacts { memory_free, ..*machine };
        let context = machine::context_tokens(&demand, &machine, self.config.context);
        let refusal = machine::check_memory(&demand, context, &machine).refusal;
        refusal.map_or(Ok(()), |reason| Err(format!("{} can't run now: {reason}", entry.name)))
    }

    /// Returns the model in use if its file is valid, regardless of the machine.
    fn usable_entry(&self) -> Result<Entry, String> {
        let state = self.state();
        if state.closed {
            return Err("OpenAgents is shutting down".to_owned());
        }
        let pinned = self.config.model_file.as_deref();
        let entry = state.in_use(pinned).ok_or_else(|| {
            if let Some(pinned) = pinned.filter(|pinned| pinned.to_str().is_none()) {
                return name_not_utf8(pinned);
            }
            let chosen = state.chosen();
            format!("no such model: {chosen}; choose another one with `openagents models use ID`")
        })?;
        let name = &entry.name;
        match state.work(&entry.id) {
            Work::Downloading { done, total, .. } => {
                return Err(format!("{name} is being downloaded ({} %); wait for it", percent(done, total)));
            }
            Work::Verifying(share) if state.run(entry) == Run::Out => {
                return Err(format!("{name} is being verified ({:.0} %); wait for it", share * 100.0));
            }
            Work::Failed(reason) => return Err(format!("{name}: {reason}")),
            Work::Verifying(_) | Work::None => {}
        }
        match state.on_disk(entry) {
            OnDisk::Whole => {}
            OnDisk::Unusable(reason) => return Err(reason),
            OnDisk::Part { done, total } => {
                let percent = percent(done, total);
                return Err(format!(
                    "the download of {name} is paused at {percent} %; run `openagents models download` to resume"
                ));
            }
            OnDisk::Nothing => {
                return Err(format!(
                    "{name} is not downloaded; run `openagents models download`, or add a GGUF file with `openagents models add FILE`"
                ));
            }
        }
        Ok(entry.clone())
    }
}

fn percent(done: u64, total: u64) -> u64 {
    done.saturating_mul(100).checked_div(total).unwrap_or(0)
}
