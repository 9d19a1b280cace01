use super::*;
use std::{
    fs,
    path::{Component, Path, PathBuf},
};

struct Tree {
    _keep: tempfile::TempDir,
    workspace: Workspace,
}

fn tree(name: &str) -> Tree {
    let keep = tempfile::tempdir().unwrap();
    let root = keep.path().join(name);
    fs::create_dir_all(root.join("ios")).unwrap();
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}\n").unwrap();
    let workspace = Workspace::open_for(&root, Some(keep.path().to_path_buf())).unwrap();
    Tree { _keep: keep, workspace }
}

#[test]
fn every_row_of_the_path_table() {
    let tree = tree("openagents");
    let root = tree.workspace.root().display().to_string();
    let rows = [
        ("", "."),
        (".", "."),
        ("./", "."),
        ("/", "."),
        ("workspace", "."),
        ("Workspace", "."),
        ("/workspace", "."),
        ("/workspace/", "."),
        ("/workspace/ios", "ios"),
        ("workspace/ios", "ios"),
        ("/workspace/openagents", "."),
        ("/workspace/openagents/ios", "ios"),
        ("/path/to", "."),
        ("path/to", "."),
        ("/path/to/src/main.rs", "src/main.rs"),
        ("path/to/ios", "ios"),
        ("/openagents", "."),
        ("/openagents/ios", "ios"),
        ("openagents/ios", "ios"),
        ("openagents", "."),
        ("./ios/", "ios"),
        ("ios/", "ios"),
        ("src/../ios", "ios"),
        ("  ios ", "ios"),
        ("missing/file.txt", "missing/file.txt"),
        ("~/openagents/ios", "ios"),
        ("a..b", "a..b"),
    ];
    for (input, expected) in rows {
        assert_eq!(tree.workspace.resolve(input), Ok(PathBuf::from(expected)), "{input:?}");
    }
    let absolute =
        [(root.clone(), "."), (format!("{root}/ios/x"), "ios/x"), (format!("file://{root}/a%20b"), "a b")];
    for (input, expected) in absolute {
        assert_eq!(tree.workspace.resolve(&input), Ok(PathBuf::from(expected)), "{input:?}");
    }
}

#[test]
fn what_leads_out_is_refused_by_its_own_words() {
    let tree = tree("proj");
    let sibling = tree.workspace.root().with_file_name("proj2");
    fs::create_dir_all(&sibling).unwrap();
    let sibling = format!("{}/x", sibling.display());
    let inputs = [
        "..",
        "../x",
        "src/../../x",
        "/etc/passwd",
        "/etc",
        "~/other",
        "file:///etc/passwd",
        "a\0b",
        &sibling,
    ];
    for input in inputs {
        let error = tree.workspace.resolve(input).unwrap_err();
        assert_eq!(error.to_string(), format!("Path outside workspace: {input}"));
    }
}

#[test]
fn a_real_directory_beats_the_alias_of_the_same_name() {
    let tree = tree("proj");
    fs::create_dir_all(tree.workspace.root().join("workspace")).unwrap();
    fs::create_dir_all(tree.workspace.root().join("proj")).unwrap();
    for input in ["workspace/x", "proj/x"] {
        assert_eq!(tree.workspace.resolve(input), Ok(PathBuf::from(input)), "{input}");
    }
}

#[test]
fn a_file_named_like_an_alias_is_that_file() {
    let tree = tree("proj");
    for name in ["proj", "WORKSPACE"] {
        fs::write(tree.workspace.root().join(name), "").unwrap();
        assert_eq!(tree.workspace.resolve(name), Ok(PathBuf::from(name)));
    }
    assert_eq!(tree.workspace.resolve("workspace"), Ok(PathBuf::from(".")));
}

#[test]
fn a_root_below_an_alias_is_itself() {
    let keep = tempfile::tempdir().unwrap();
    let root = keep.path().join("path/to/app");
    fs::create_dir_all(root.join("src")).unwrap();
    let workspace = Workspace::open_for(&root, None).unwrap();
    let written = format!("{}/src", workspace.root().display());
    assert_eq!(workspace.resolve(&written), Ok(PathBuf::from("src")));
}

#[test]
fn a_missing_root_a_file_and_a_home_folder_are_no_workspace() {
    let keep = tempfile::tempdir().unwrap();
    let file = keep.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(Workspace::open(&file).unwrap_err(), WorkspaceError::NotADirectory);
    let missing = Workspace::open(&keep.path().join("missing")).unwrap_err();
    assert_eq!(missing.to_string(), "Invalid workspace: Path does not exist or is not a directory");
    let home = Workspace::open_for(keep.path(), Some(keep.path().to_path_buf())).unwrap_err();
    assert!(matches!(home, WorkspaceError::TooWide(_)));
    let above = Workspace::open_for(keep.path(), Some(keep.path().join("me"))).map(drop);
    assert_eq!(above, Ok(()), "a home that does not exist forbids nothing");
    fs::create_dir(keep.path().join("me")).unwrap();
    let above = Workspace::open_for(keep.path(), Some(keep.path().join("me"))).unwrap_err();
    assert!(matches!(above, WorkspaceError::TooWide(_)));
    assert!(matches!(Workspace::open(Path::new("/")).unwrap_err(), WorkspaceError::TooWide(_)));
}

#[cfg(unix)]
mod links {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_symlink_that_leads_out_is_refused_and_one_that_stays_is_followed() {
        let tree = tree("proj");
        let root = tree.workspace.root().to_path_buf();
        let secret = root.with_file_name("secret.txt");
        fs::write(&secret, "secret").unwrap();
        symlink(&secret, root.join("out")).unwrap();
        symlink("../secret.txt", root.join("out-relative")).unwrap();
        symlink("..", root.join("up")).unwrap();
        symlink("src/main.rs", root.join("in")).unwrap();
        symlink(root.join("src"), root.join("in-absolute")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for input in ["out", "out-relative", "up", "up/secret.txt"] {
            let error = tree.workspace.resolve(input).unwrap_err();
            assert_eq!(error, PathError::Outside(input.to_owned()));
            assert!(tree.workspace.open_file(Path::new(input)).is_err(), "{input}");
        }
        assert_eq!(tree.workspace.resolve("in"), Ok(PathBuf::from("in")));
        assert!(tree.workspace.open_file(Path::new("in")).is_ok());
        assert_eq!(tree.workspace.resolve("in-absolute/main.rs"), Ok(PathBuf::from("src/main.rs")));
        let looped =
            tree.workspace.resolve("loop").and_then(|path| tree.workspace.open_file(&path).map(drop));
        assert!(looped.is_err());
    }

    #[test]
    fn a_fifo_is_refused_at_once() {
        let tree = tree("proj");
        let fifo = tree.workspace.root().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let error = tree.workspace.open_file(Path::new("pipe")).unwrap_err();
        assert_eq!(error.to_string(), "Invalid parameters: pipe is not a regular file");
    }

    /// One thread swaps a link between a file inside and a file outside; every opened file must be the one inside.
    #[test]
    fn a_racing_symlink_never_wins() {
        use std::{
            io::Read,
            sync::atomic::{AtomicBool, Ordering},
        };
        let tree = tree("proj");
        let root = tree.workspace.root().to_path_buf();
        fs::write(root.join("inside.txt"), "inside").unwrap();
        let outside = root.with_file_name("outside.txt");
        fs::write(&outside, "OUTSIDE").unwrap();
        let (good, bad, link) = (root.join("good"), root.join("bad"), root.join("link"));
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    symlink("inside.txt", &good).unwrap();
                    fs::rename(&good, &link).unwrap();
                    symlink(&outside, &bad).unwrap();
                    fs::rename(&bad, &link).unwrap();
                }
            });
            let mut opened = 0;
            for _ in 0..20_000 {
                let Ok(path) = tree.workspace.resolve("link") else { continue };
                let Ok(mut file) = tree.workspace.open_file(&path) else { continue };
                let mut text = String::new();
                file.file.read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside");
                opened += 1;
            }
            stop.store(true, Ordering::Relaxed);
            assert!(opened > 0, "the race never let a good link through");
        });
    }

    proptest::proptest! {
        /// For any path, an opened file is inside: the only readable bytes outside of the tree are OUTSIDE.
        #[test]
        fn no_path_ever_leaves_the_workspace(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "..", ".", "/", "~", "a", "b", "up", "out", "abs", "loop", "workspace", "proj", "path/to",
                    "file://", "secret.txt", "//", "\u{202e}", "%2e%2e", " ", "in.txt", "\\", "pipe",
                ]), 0..8),
            glue in proptest::bool::ANY,
            noise in ".{0,6}",
        ) {
            use std::io::Read;
            let keep = fixture();
            let root = keep.path().join("proj");
            let workspace = Workspace::open_for(&root, Some(keep.path().to_path_buf())).unwrap();
            let mut input = parts.join(if glue { "/" } else { "" });
            input.push_str(&noise);
            if let Ok(path) = workspace.resolve(&input) {
                proptest::prop_assert!(path.is_relative());
                proptest::prop_assert!(!path.components().any(|part| matches!(part, Component::ParentDir)));
                if let Ok(mut opened) = workspace.open_file(&path) {
                    let mut text = String::new();
                    opened.file.read_to_string(&mut text).unwrap();
                    proptest::prop_assert_eq!(text, "INSIDE");
                }
            }
        }
    }

    /// One tree for all cases: links up, out and in a loop, a FIFO, a name that is not UTF-8.
    fn fixture() -> &'static tempfile::TempDir {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt, sync::OnceLock};
        static TREE: OnceLock<tempfile::TempDir> = OnceLock::new();
        TREE.get_or_init(|| {
            let keep = tempfile::tempdir().unwrap();
            let root = keep.path().join("proj");
            fs::create_dir_all(root.join("a/b")).unwrap();
            fs::write(keep.path().join("secret.txt"), "OUTSIDE").unwrap();
            fs::write(keep.path().join("in.txt"), "OUTSIDE").unwrap();
            fs::write(root.join("in.txt"), "INSIDE").unwrap();
            fs::write(root.join("a/b/in.txt"), "INSIDE").unwrap();
            fs::write(root.join(OsStr::from_bytes(b"\xff\xfe")), "INSIDE").unwrap();
            symlink("..", root.join("up")).unwrap();
            symlink("../..", root.join("a/up")).unwrap();
            symlink("../secret.txt", root.join("out")).unwrap();
            symlink(keep.path(), root.join("abs")).unwrap();
            symlink("loop", root.join("loop")).unwrap();
            let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
            assert!(made.success());
            keep
        })
    }
}
