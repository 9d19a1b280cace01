//! Downloads, verification, adding and removing.

use super::stage::{ROOMY, Stage, card, until};
use crate::{
    Local, LocalConfig,
    gguf::testing::Draft,
    machine::MachineFacts,
    models::testing::{Behavior, Server, Share},
};
use openagents_core::model::{
    Availability, LocalModels, LocalModelsError, ModelCommand, ModelStatus, SettingsChange,
};
use std::path::PathBuf;

const GPT_OSS: &str = "gpt-oss-20b";

fn id() -> String {
    GPT_OSS.to_owned()
}

fn model() -> Share {
    Share::from_body(Draft { data: 300_000, ..Draft::gpt_oss() }.bytes(), 1)
}

fn stage_with(share: Share, behaviors: impl IntoIterator<Item = Behavior>) -> (Stage, Server) {
    let server = Server::start(share, behaviors);
    (Stage { server: Some(server.url()), ..Stage::new() }, server)
}

fn download(local: &Local) -> Result<(), LocalModelsError> {
    local.command(ModelCommand::Download { id: id(), accept_licence: true })
}

fn file(stage: &Stage) -> PathBuf {
    stage.folder.path().join("gpt-oss-20b-MXFP4.gguf")
}

#[test]
fn download_asks_for_licence_once() {
    let (stage, server) = stage_with(model(), []);
    let local = stage.local();
    let refused = local.command(ModelCommand::Download { id: id(), accept_licence: false }).unwrap_err();
    assert!(matches!(refused, LocalModelsError::Licence { .. }), "{refused}");
    assert!(server.asked().is_empty());
    download(&local).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    let downloaded = card(&local, GPT_OSS);
    assert_eq!(downloaded.verified, Some(true));
    assert!(downloaded.offer.unwrap().licence_accepted);
    assert_eq!(download(&local).unwrap_err().to_string(), "GPTOSS 20B is already downloaded");
    let again = stage.local();
    assert_eq!(card(&again, GPT_OSS).status, ModelStatus::NotLoaded);
    assert_eq!(again.snapshot().settings.accepted_licences, [GPT_OSS]);
}

#[test]
fn download_pauses_resumes_and_cancels() {
    let (stage, server) = stage_with(model(), [Behavior::Hold(100_000), Behavior::Hold(50_000)]);
    let local = stage.local();
    let bytes = |status: &ModelStatus| matches!(status, ModelStatus::Downloading { done, .. } if *done > 0);
    download(&local).unwrap();
    until(&local, GPT_OSS, bytes);
    local.command(ModelCommand::Pause { id: id() }).unwrap();
    let paused = card(&local, GPT_OSS).status;
    assert!(matches!(paused, ModelStatus::Paused { done, .. } if done > 0), "{paused:?}");
    assert!(local.command(ModelCommand::Pause { id: id() }).is_err());
    drop(local);
    let local = stage.local();
    assert_eq!(card(&local, GPT_OSS).status, paused);
    download(&local).unwrap();
    until(&local, GPT_OSS, |_| server.asked().len() == 2);
    local.shut_down();
    let local = stage.local();
    assert!(matches!(card(&local, GPT_OSS).status, ModelStatus::Paused { .. }));
    local.command(ModelCommand::CancelDownload { id: id() }).unwrap();
    assert_eq!(card(&local, GPT_OSS).status, ModelStatus::NotDownloaded);
    assert!(local.command(ModelCommand::CancelDownload { id: id() }).is_err());
}

#[test]
fn disk_requirement_follows_server() {
    let (stage, _server) = stage_with(model(), [Behavior::Hold(100_000)]);
    // Enough for the small file of this server, but not for the size in the catalog.
    let small = MachineFacts { memory_total: 8 << 30, ..ROOMY };
    let local = Local::start(stage.config().with_machine(move || small));
    assert!(!card(&local, GPT_OSS).warnings.is_empty());
    download(&local).unwrap();
    until(&local, GPT_OSS, |status| matches!(status, ModelStatus::Downloading { done, .. } if *done > 0));
    let downloading = card(&local, GPT_OSS);
    assert_eq!(downloading.size_bytes, Some(model().body.len() as u64));
    assert_eq!(downloading.warnings, [""; 0]);
    local.command(ModelCommand::Pause { id: id() }).unwrap();
    assert_eq!(card(&local, GPT_OSS).warnings, [""; 0]);
}

#[test]
fn failed_download_can_be_retried() {
    let (stage, _server) = stage_with(model(), [Behavior::Status(404)]);
    let local = stage.local();
    download(&local).unwrap();
    let failed = until(&local, GPT_OSS, |status| matches!(status, ModelStatus::Error { .. }));
    assert!(matches!(failed, ModelStatus::Error { reason } if reason.contains("404")));
    download(&local).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
}

#[test]
fn failure_clears_when_other_program_finishes() {
    let (stage, _server) = stage_with(model(), [Behavior::Hold(100_000)]);
    let (app, cli) = (stage.local(), stage.local());
    download(&cli).unwrap();
    until(&cli, GPT_OSS, |status| matches!(status, ModelStatus::Downloading { done, .. } if *done > 0));
    download(&app).unwrap();
    let failed = until(&app, GPT_OSS, |status| matches!(status, ModelStatus::Error { .. }));
    assert!(matches!(failed, ModelStatus::Error { reason } if reason.contains("another OpenAgents program")));
    cli.command(ModelCommand::Pause { id: id() }).unwrap();
    download(&cli).unwrap();
    until(&cli, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    assert_eq!(app.model().availability(), Availability::Ready);
    assert_eq!(card(&app, GPT_OSS).status, ModelStatus::NotLoaded);
}

#[test]
fn failed_repair_keeps_existing_file() {
    let (stage, _server) = stage_with(model(), [Behavior::Status(404), Behavior::Drop(100_000)]);
    let mut mine = model().body;
    *mine.last_mut().unwrap() ^= 1;
    std::fs::write(file(&stage), &mine).unwrap();
    let local = stage.local();
    let repair = || local.command(ModelCommand::Repair { id: id() });
    assert!(matches!(repair(), Err(LocalModelsError::Licence { .. })));
    local.inner.save(|settings| settings.accepted_licences.push(id())).unwrap();
    repair().unwrap();
    until(&local, GPT_OSS, |status| matches!(status, ModelStatus::Error { .. }));
    assert_eq!(std::fs::read(file(&stage)).unwrap(), mine);
    local.command(ModelCommand::Load).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::Ready);
    assert_eq!(repair().unwrap_err().to_string(), "GPTOSS 20B is loaded; unload it first");
    local.command(ModelCommand::Unload).unwrap();
    repair().unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    assert_eq!(std::fs::read(file(&stage)).unwrap(), model().body);
}

#[test]
fn damaged_file_is_found_and_repaired() {
    let (stage, server) = stage_with(model(), []);
    let local = stage.local();
    download(&local).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    local.command(ModelCommand::Verify { id: id() }).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    assert_eq!(card(&local, GPT_OSS).verified, Some(true));
    // Same size: only the hash differs.
    let mut damaged = model().body;
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(file(&stage), &damaged).unwrap();
    local.command(ModelCommand::Verify { id: id() }).unwrap();
    until(&local, GPT_OSS, |status| matches!(status, ModelStatus::Error { .. }));
    assert_eq!(card(&local, GPT_OSS).verified, Some(false));
    assert!(matches!(card(&stage.local(), GPT_OSS).status, ModelStatus::Error { .. }), "it is not forgotten");
    local.command(ModelCommand::Repair { id: id() }).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    assert_eq!(std::fs::read(file(&stage)).unwrap(), model().body);
    assert_eq!(server.asked().len(), 2);
    // The file is valid, so nothing is downloaded.
    local.command(ModelCommand::Repair { id: id() }).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    assert_eq!(server.asked().len(), 2);
    // A truncated file: the size differs.
    std::fs::write(file(&stage), &damaged[..1000]).unwrap();
    let local = stage.local();
    assert!(matches!(card(&local, GPT_OSS).status, ModelStatus::Error { .. }));
    download(&local).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    assert_eq!(std::fs::read(file(&stage)).unwrap(), model().body);
}

#[test]
fn remove_deletes_downloads_and_forgets_added_files() {
    let (stage, _server) = stage_with(model(), []);
    let elsewhere = Stage::new().with_model("mine.gguf");
    let path = elsewhere.folder.path().join("mine.gguf");
    let local = stage.local();
    local.command(ModelCommand::Add { path: path.clone() }).unwrap();
    assert!(card(&local, "mine").in_use, "there is no other one");
    download(&local).unwrap();
    until(&local, GPT_OSS, |status| *status == ModelStatus::NotLoaded);
    assert!(card(&stage.local(), "mine").in_use, "it is still known, and in use");
    local.command(ModelCommand::Remove { id: "mine".to_owned() }).unwrap();
    assert!(path.exists());
    assert_eq!(local.snapshot().models.len(), 1);
    local.command(ModelCommand::Remove { id: id() }).unwrap();
    assert_eq!(card(&local, GPT_OSS).status, ModelStatus::NotDownloaded);
    assert!(!file(&stage).exists());
    assert!(card(&local, GPT_OSS).in_use);
}

#[test]
fn two_programs_keep_each_others_changes() {
    let (stage, elsewhere) = (Stage::new(), Stage::new().with_model("one.gguf").with_model("two.gguf"));
    let (app, cli) = (stage.local(), stage.local());
    let add = |local: &Local, name: &str| {
        local.command(ModelCommand::Add { path: elsewhere.folder.path().join(name) }).unwrap();
    };
    let configure =
        |local: &Local, change| local.command(ModelCommand::Configure { settings: change }).unwrap();
    add(&app, "one.gguf");
    add(&cli, "two.gguf");
    configure(&app, SettingsChange { temperature: Some(0.1), ..SettingsChange::default() });
    configure(&cli, SettingsChange { preload: Some(true), ..SettingsChange::default() });
    let ids = |local: &Local| local.snapshot().models.into_iter().map(|card| card.id).collect::<Vec<_>>();
    for local in [&cli, &stage.local()] {
        assert_eq!(ids(local), [GPT_OSS, "one", "two"]);
        let settings = local.snapshot().settings;
        assert_eq!((settings.temperature, settings.preload), (0.1, true));
        assert!(card(local, "one").in_use);
    }
    app.command(ModelCommand::Remove { id: "two".to_owned() }).unwrap();
    assert_eq!(ids(&stage.local()), [GPT_OSS, "one"]);
}

#[test]
fn added_file_in_folder_can_be_removed() {
    let stage = Stage::new();
    let path = stage.folder.path().join("inner").join("mine.gguf");
    std::fs::create_dir(path.parent().unwrap()).unwrap();
    std::fs::write(&path, Draft::gpt_oss().bytes()).unwrap();
    stage.local().command(ModelCommand::Add { path: path.clone() }).unwrap();
    let inner = || Local::start(LocalConfig { folder: path.parent().unwrap().to_owned(), ..stage.config() });
    inner().command(ModelCommand::Remove { id: "mine".to_owned() }).unwrap();
    assert!(!path.exists());
    assert_eq!(inner().snapshot().models.len(), 1);
}

#[test]
fn pinned_file_with_non_utf8_name_is_rejected() {
    use std::os::unix::ffi::OsStrExt;
    let stage = Stage::new();
    let odd = stage.folder.path().join(std::ffi::OsStr::from_bytes(b"odd\xff.gguf"));
    // Some file systems refuse such a name.
    if std::fs::write(&odd, Draft::gpt_oss().bytes()).is_ok() {
        let local = Local::start(LocalConfig { model_file: Some(odd), ..stage.config() });
        assert!(serde_json::to_value(local.snapshot()).is_ok());
        let refused = local.model().availability();
        let why = |reason: &str| reason.ends_with("give the file a name in UTF-8 first");
        assert!(matches!(&refused, Availability::Unavailable(reason) if why(reason)), "{refused:?}");
    }
}

#[test]
fn refusals_are_sentences() {
    let stage = Stage::new().with_model("tiny.gguf");
    let text = stage.folder.path().join("text");
    std::fs::write(&text, "text").unwrap();
    let local = stage.local();
    let tiny = || "tiny".to_owned();
    let commands = [
        ModelCommand::Use { id: "nothing".to_owned() },
        ModelCommand::Download { id: tiny(), accept_licence: true },
        ModelCommand::Pause { id: id() },
        ModelCommand::CancelDownload { id: id() },
        ModelCommand::Verify { id: tiny() },
        ModelCommand::Verify { id: id() },
        ModelCommand::Repair { id: tiny() },
        ModelCommand::Load,
        ModelCommand::Add { path: PathBuf::from("/nowhere.gguf") },
        ModelCommand::Configure {
            settings: SettingsChange { idle_minutes: Some(3), ..SettingsChange::default() },
        },
    ];
    let shown: Vec<_> =
        commands.into_iter().map(|command| local.command(command).unwrap_err().to_string()).collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    there is no model nothing; `openagents models list` lists the available ones
    Tiny is a file of yours; there is nothing to download
    GPTOSS 20B is not being downloaded
    GPTOSS 20B is not being downloaded
    Tiny was not downloaded by this program, so there is no hash to compare it with
    GPTOSS 20B has no file to verify
    Tiny was not downloaded by this program; copy or download it again
    GPTOSS 20B is not downloaded; run `openagents models download`, or add a GGUF file with `openagents models add FILE`
    /nowhere.gguf: No such file or directory (os error 2)
    idle minutes is 3; choose 0 (never), 5, 10, 30 or 60
    ");
    let shown = local.command(ModelCommand::Add { path: text }).unwrap_err().to_string();
    assert!(shown.contains("is not a GGUF file"), "{shown}");
}

#[test]
fn configure_changes_one_setting_only() {
    let stage = Stage::new().with_model("tiny.gguf");
    let local = stage.local_with("tiny");
    for change in [
        SettingsChange { temperature: Some(0.1), ..SettingsChange::default() },
        SettingsChange { preload: Some(true), ..SettingsChange::default() },
    ] {
        local.command(ModelCommand::Configure { settings: change }).unwrap();
    }
    let kept = stage.local().snapshot().settings;
    assert_eq!((kept.temperature, kept.preload, kept.model.as_deref()), (0.1, true, Some("tiny")));
}
