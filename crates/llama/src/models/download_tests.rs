use super::{
    catalog::GPT_OSS_20B,
    download::{Destination, DownloadError, Partial, Patience, Progress, discard, download, unfinished},
    manifest::Manifest,
    remote::{Remote, RemoteError},
    testing::{Behavior, Server, Share},
};
use openagents_core::CancellationToken;
use std::{path::Path, time::Duration};
use tempfile::TempDir;

const SIZE: usize = 300_000;
const REDIRECT: Behavior = Behavior::Redirect("http://192.0.2.1/x");

struct Try {
    folder: TempDir,
    server: Server,
}

impl Try {
    fn new(behaviors: impl IntoIterator<Item = Behavior>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, server: Server::start(Share::new(1, SIZE), behaviors) }
    }

    fn download(&self) -> Result<Vec<u8>, DownloadError> {
        self.download_until(&CancellationToken::new(), &mut |_| {})
    }

    fn download_until(
        &self,
        stop: &CancellationToken,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<u8>, DownloadError> {
        let remote = Remote::new(&self.server.url()).unwrap();
        let patience = Patience { attempts: 4, pause: Duration::from_millis(1) };
        let to = Destination { folder: self.folder.path(), replace: false };
        let path = download(&remote, &GPT_OSS_20B, to, patience, stop, on_progress)?;
        assert_eq!(path, self.whole());
        Ok(std::fs::read(path).unwrap())
    }

    /// Stops at the first bytes.
    fn pause(&self) {
        let stop = CancellationToken::new();
        let paused = self.download_until(&stop, &mut |_| stop.cancel());
        assert_eq!(paused, Err(DownloadError::Stopped));
    }

    fn whole(&self) -> std::path::PathBuf {
        self.folder.path().join(GPT_OSS_20B.file)
    }

    /// The files in the folder, without the lock.
    fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| !name.ends_with(".lock"));
        names.sort();
        names
    }

    fn starts(&self) -> Vec<Option<u64>> {
        self.server.asked().into_iter().map(|(from, _)| from).collect()
    }
}

#[test]
fn file_is_named_after_verification() {
    let tried = Try::new([]);
    let share = Share::new(1, SIZE);
    assert_eq!(tried.download().unwrap(), share.body);
    assert_eq!(tried.files(), ["gpt-oss-20b-MXFP4.gguf", "gpt-oss-20b-MXFP4.gguf.manifest.json"]);
    let text = std::fs::read_to_string(Manifest::path_of(&tried.whole())).unwrap();
    let manifest: Manifest = serde_json::from_str(&text).unwrap();
    assert_eq!((manifest.model_id.as_str(), manifest.version), ("gpt-oss-20b", share.commit));
    let record = Manifest::record_of(&tried.whole()).unwrap();
    assert_eq!((record.size_bytes, record.sha256), (SIZE as u64, share.sha256));
}

#[test]
fn dropped_connection_is_resumed() {
    let tried = Try::new([Behavior::Drop(100_000), Behavior::Drop(50_000)]);
    assert_eq!(tried.download().unwrap(), Share::new(1, SIZE).body);
    let asked = tried.server.asked();
    let etag = || Some("\"v1\"".to_owned());
    assert_eq!(asked, [(None, None), (Some(100_000), etag()), (Some(150_000), etag())]);
}

#[test]
fn paused_download_resumes_after_restart() {
    let tried = Try::new([Behavior::Hold(100_000)]);
    tried.pause();
    let (done, total) = unfinished(&tried.whole()).unwrap();
    assert!(done > 0 && done <= 100_000 && total == SIZE as u64, "{done} of {total}");
    assert!(!tried.whole().exists());
    assert_eq!(tried.download().unwrap(), Share::new(1, SIZE).body);
    assert_eq!(tried.starts(), [None, Some(done)]);
}

#[test]
fn bytes_before_stall_are_reported() {
    let tried = Try::new([Behavior::Drop(70_000), Behavior::Hold(100_000)]);
    let (stop, mut shown) = (CancellationToken::new(), Vec::new());
    let stopped = tried.download_until(&stop, &mut |progress| {
        if let Progress::Bytes { done, .. } = progress {
            shown.push(done);
            if done == 170_000 {
                stop.cancel();
            }
        }
    });
    assert_eq!(stopped, Err(DownloadError::Stopped));
    assert!(shown.contains(&70_000), "{shown:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_error_names_missing_size() {
    let tried = Try::new([]);
    std::os::unix::fs::symlink(
        "/dev/full",
        tried.folder.path().join(format!("{}.partial", GPT_OSS_20B.file)),
    )
    .unwrap();
    let full = tried.download().unwrap_err().to_string();
    assert_eq!(full, "the disk is full; free 1.0 GB and download again to resume");
}

#[test]
fn stop_during_verification_keeps_data() {
    let tried = Try::new([]);
    let stop = CancellationToken::new();
    let stopped = tried.download_until(&stop, &mut |progress| {
        if matches!(progress, Progress::Bytes { done, total, .. } if done == total) {
            stop.cancel();
        }
    });
    assert_eq!(stopped, Err(DownloadError::Stopped));
    assert!(!tried.whole().exists());
    assert_eq!(tried.download().unwrap(), Share::new(1, SIZE).body);
    assert_eq!(tried.starts(), [None], "nothing is requested twice");
}

#[test]
fn cancelled_download_leaves_nothing() {
    let tried = Try::new([Behavior::Hold(100_000)]);
    tried.pause();
    discard(&GPT_OSS_20B, tried.folder.path()).unwrap();
    assert_eq!(tried.files(), [""; 0]);
    assert_eq!(unfinished(&tried.whole()), None);
}

#[test]
fn server_without_ranges_restarts_download() {
    let tried = Try::new([Behavior::Drop(100_000), Behavior::IgnoreRange]);
    assert_eq!(tried.download().unwrap(), Share::new(1, SIZE).body);
}

#[test]
fn changed_file_is_never_mixed() {
    let tried = Try::new([Behavior::Hold(100_000)]);
    tried.pause();
    let newer = Share::new(2, SIZE + 10);
    tried.server.replace(newer.clone());
    assert_eq!(tried.download().unwrap(), newer.body);
    assert_eq!(Manifest::record_of(&tried.whole()).unwrap().sha256, newer.sha256);
}

#[test]
fn deleted_commit_is_replaced() {
    let tried = Try::new([Behavior::Hold(100_000), Behavior::Status(404)]);
    tried.pause();
    let newer = Share::new(2, SIZE);
    tried.server.replace(newer.clone());
    assert_eq!(tried.download().unwrap(), newer.body);
}

#[test]
fn refused_resume_keeps_data() {
    for refusal in [401, 403, 404] {
        let refused = || Behavior::Status(refusal);
        let tried = Try::new([Behavior::Hold(100_000), refused(), refused()]);
        tried.pause();
        let found = unfinished(&tried.whole());
        let error = tried.download().unwrap_err().to_string();
        assert!(error.contains(&refusal.to_string()), "{error}");
        assert_eq!(unfinished(&tried.whole()), found);
        let share = Share { commit: "f".repeat(40), ..Share::new(1, SIZE) };
        tried.server.replace(share.clone());
        assert_eq!(tried.download().unwrap(), share.body);
        let done = found.map(|(done, _)| done);
        assert_eq!(tried.starts(), [None, done, done, done]);
    }
}

#[test]
fn new_etag_of_same_file_keeps_data() {
    let tried = Try::new([Behavior::Drop(100_000), Behavior::Etag("\"x\"")]);
    assert_eq!(tried.download().unwrap(), Share::new(1, SIZE).body);
    assert_eq!(tried.starts(), [None, Some(100_000), Some(100_000)]);
}

#[test]
fn download_resumes_from_another_server() {
    let tried = Try::new([Behavior::Hold(100_000)]);
    tried.pause();
    let done = unfinished(&tried.whole()).map(|(done, _)| done);
    let other = Try { folder: tried.folder, server: Server::start(Share::new(1, SIZE), []) };
    assert_eq!(other.download().unwrap(), Share::new(1, SIZE).body);
    assert_eq!(other.starts(), [done]);
}

#[test]
fn errors_are_one_sentence() {
    let rows: [(&str, &[Behavior], &[&str]); 8] = [
        (
            "other names for the same bytes",
            &[Behavior::Drop(9), Behavior::Etag("\"x\""), Behavior::Drop(9), Behavior::Etag("\"y\"")],
            &["manifest.json"],
        ),
        ("too much", &[Behavior::Long(5), Behavior::Long(5)], &["partial", "partial.json"]),
        (
            "too little",
            &[
                Behavior::Short(9),
                Behavior::Short(0),
                Behavior::Short(0),
                Behavior::Short(0),
                Behavior::Short(0),
            ],
            &["partial", "partial.json"],
        ),
        ("not found", &[Behavior::Status(404)], &[]),
        (
            "broken server",
            &[Behavior::Status(500), Behavior::Status(503), Behavior::Status(500), Behavior::Status(500)],
            &[],
        ),
        (
            "broken for a moment",
            &[Behavior::Status(500), Behavior::Status(429), Behavior::Drop(0)],
            &["manifest.json"],
        ),
        ("a redirect off this machine without https", &[REDIRECT], &[]),
        ("a redirect on this machine", &[Behavior::Redirect("/elsewhere")], &["manifest.json"]),
    ];
    let mut shown = Vec::new();
    for (row, behaviors, left) in rows {
        let tried = Try::new(behaviors.iter().cloned());
        let outcome =
            tried.download().map(|_| "is downloaded".to_owned()).unwrap_or_else(|error| error.to_string());
        shown.push(format!("{row}: {outcome}"));
        let files = tried.files().into_iter();
        let endings: Vec<_> =
            files.filter_map(|name| Some(name.split_once(".gguf.")?.1.to_owned())).collect();
        assert_eq!(endings, left, "{row}");
    }
    insta::assert_snapshot!(shown.join("\n"), @"
    other names for the same bytes: is downloaded
    too much: GPTOSS 20B changed on the server during the download; download it again later
    too little: the connection to 127.0.0.1 failed (the response is too short); check the network and download again to resume
    not found: 127.0.0.1 answered 404 for ggml-org/gpt-oss-20b-GGUF/resolve/0000000000000000000000000000000000000001/gpt-oss-20b-mxfp4.gguf; check OPENAGENTS_MODELS_URL and the version of this program
    broken server: 127.0.0.1 answered 500; download again later to resume
    broken for a moment: is downloaded
    a redirect off this machine without https: 127.0.0.1 sent a bad redirect (a redirect to an address without https); nothing was downloaded
    a redirect on this machine: is downloaded
    ");
}

#[test]
fn file_with_wrong_hash_is_deleted() {
    let share = Share { sha256: "0".repeat(64), ..Share::new(1, SIZE) };
    let tried = Try { folder: tempfile::tempdir().unwrap(), server: Server::start(share, []) };
    assert_eq!(tried.download(), Err(DownloadError::Damaged("GPTOSS 20B")));
    assert_eq!(tried.files(), [""; 0]);
}

#[test]
fn server_listing_is_not_trusted() {
    let share = || Share::new(1, SIZE);
    let rows = [
        Share { name: "../gpt-oss-20b-MXFP4.gguf".to_owned(), ..share() },
        Share { name: "other.gguf".to_owned(), ..share() },
        Share { sha256: "zz".repeat(32), ..share() },
        Share { commit: "main".to_owned(), ..share() },
        Share { body: Vec::new(), ..share() },
    ];
    for share in rows {
        let tried = Try { folder: tempfile::tempdir().unwrap(), server: Server::start(share.clone(), []) };
        let refused = tried.download();
        assert!(
            matches!(refused, Err(DownloadError::Remote(RemoteError::InvalidResponse { .. }))),
            "{refused:?} {}",
            share.name
        );
        assert_eq!(tried.files(), [""; 0]);
    }
}

#[test]
fn second_program_does_not_download_same_file() {
    let tried = Try::new([]);
    let lock = Partial::for_file(&tried.whole()).lock().unwrap();
    assert!(lock.is_some());
    assert_eq!(tried.download(), Err(DownloadError::Busy("GPTOSS 20B")));
    drop(lock);
    assert!(tried.download().is_ok());
}

#[test]
fn discard_spares_running_download() {
    let tried = Try::new([Behavior::Hold(100_000)]);
    tried.pause();
    let found = unfinished(&tried.whole());
    let lock = Partial::for_file(&tried.whole()).lock().unwrap();
    assert_eq!(discard(&GPT_OSS_20B, tried.folder.path()), Err(DownloadError::Busy("GPTOSS 20B")));
    assert_eq!(unfinished(&tried.whole()), found);
    drop(lock);
    discard(&GPT_OSS_20B, tried.folder.path()).unwrap();
    discard(&GPT_OSS_20B, &tried.folder.path().join("nowhere")).unwrap();
}

#[test]
fn finished_file_is_not_downloaded_again() {
    let tried = Try::new([]);
    let share = Share::new(1, SIZE);
    assert_eq!(tried.download().unwrap(), share.body);
    assert_eq!(tried.download().unwrap(), share.body);
    assert_eq!(tried.starts(), [None]);
}

#[test]
fn damaged_state_restarts_download() {
    for (data, origin) in
        [("abc", "{"), ("abc", "{\"file\":{\"url\":\"\",\"commit\":\"\",\"size\":3,\"sha256\":\"\"}}")]
    {
        let tried = Try::new([]);
        let sibling = |ending: &str| tried.folder.path().join(format!("{}{ending}", GPT_OSS_20B.file));
        std::fs::write(sibling(".partial"), data).unwrap();
        std::fs::write(sibling(".partial.json"), origin).unwrap();
        assert_eq!(tried.download().unwrap(), Share::new(1, SIZE).body);
        assert_eq!(tried.starts(), [None]);
    }
}

#[test]
fn other_file_on_other_server_restarts_download() {
    let tried = Try::new([Behavior::Hold(100_000)]);
    tried.pause();
    let other = Try { folder: tried.folder, server: Server::start(Share::new(3, SIZE), []) };
    assert_eq!(other.download().unwrap(), Share::new(3, SIZE).body);
    assert_eq!(other.starts(), [None]);
}

#[test]
fn invalid_folder_is_named() {
    let server = Server::start(Share::new(1, 10), []);
    let remote = Remote::new(&server.url()).unwrap();
    let folder = Path::new("/dev/null/models");
    let to = Destination { folder, replace: false };
    let stop = CancellationToken::new();
    let refused = download(&remote, &GPT_OSS_20B, to, Patience::default(), &stop, &mut |_| {}).unwrap_err();
    assert!(refused.to_string().starts_with("/dev/null/models: "), "{refused}");
}
