use super::*;
use proptest::prelude::*;
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
fn resolve_covers_path_table() {
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
fn resolve_rejects_paths_out() {
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
fn resolve_prefers_real_directory_over_alias() {
    let tree = tree("proj");
    fs::create_dir_all(tree.workspace.root().join("workspace")).unwrap();
    fs::create_dir_all(tree.workspace.root().join("proj")).unwrap();
    for input in ["workspace/x", "proj/x"] {
        assert_eq!(tree.workspace.resolve(input), Ok(PathBuf::from(input)), "{input}");
    }
}

#[test]
fn resolve_prefers_file_named_like_alias() {
    let tree = tree("proj");
    for name in ["proj", "WORKSPACE"] {
        fs::write(tree.workspace.root().join(name), "").unwrap();
        assert_eq!(tree.workspace.resolve(name), Ok(PathBuf::from(name)));
    }
    assert_eq!(tree.workspace.resolve("workspace"), Ok(PathBuf::from(".")));
}

#[test]
fn resolve_accepts_root_below_alias() {
    let keep = tempfile::tempdir().unwrap();
    let root = keep.path().join("path/to/app");
    fs::create_dir_all(root.join("src")).unwrap();
    let workspace = Workspace::open_for(&root, None).unwrap();
    let written = format!("{}/src", workspace.root().display());
    assert_eq!(workspace.resolve(&written), Ok(PathBuf::from("src")));
}

#[test]
fn open_rejects_missing_root_file_and_home() {
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

fn utf16(text: &str, mark: [u8; 2], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    mark.into_iter().chain(text.encode_utf16().flat_map(bytes)).collect()
}

#[test]
fn byte_order_marks_are_decoded() {
    let text = "größe 🎉\r\nend";
    let rows = [
        (text.as_bytes().to_vec(), None),
        ([b"\xef\xbb\xbf", text.as_bytes()].concat(), Some("utf-8")),
        (utf16(text, [0xff, 0xfe], u16::to_le_bytes), Some("utf-16le")),
        (utf16(text, [0xfe, 0xff], u16::to_be_bytes), Some("utf-16be")),
    ];
    for (bytes, encoding) in rows {
        assert_eq!(MarkedEncoding::detect(&bytes).map(MarkedEncoding::name), encoding);
        assert!(!is_binary(&bytes), "{encoding:?}");
        assert_eq!(String::from_utf8(decoded(bytes)).unwrap(), text, "{encoding:?}");
    }
    assert_eq!(decoded(b"caf\xe9".to_vec()), b"caf\xe9");
    let unmarked = utf16(text, [b'a', 0], u16::to_le_bytes);
    assert!(is_binary(&unmarked));
    // Cut inside a character.
    assert_eq!(decoded(b"\xff\xfea\0b".to_vec()), "a\u{fffd}".as_bytes());
}

proptest! {
    #[test]
    fn utf16_text_round_trips(text in "\\PC{0,40}") {
        prop_assert_eq!(&decoded(utf16(&text, [0xff, 0xfe], u16::to_le_bytes)), text.as_bytes());
        prop_assert_eq!(&decoded(utf16(&text, [0xfe, 0xff], u16::to_be_bytes)), text.as_bytes());
    }

    #[test]
    fn decoded_accepts_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = decoded(bytes);
    }
}

mod links {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    #[test]
    fn open_file_follows_only_inner_symlinks() {
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
    fn open_file_rejects_fifo_at_once() {
        let tree = tree("proj");
        let fifo = tree.workspace.root().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let error = tree.workspace.open_file(Path::new("pipe")).unwrap_err();
        assert_eq!(error.to_string(), "Invalid parameters: pipe is not a regular file");
    }

    /// One thread swaps a link between a file inside and a file outside; every opened file must be the one inside.
    #[test]
    fn racing_symlink_never_escapes() {
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
        fn no_path_leaves_workspace(
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
                prop_assert!(path.is_relative());
                prop_assert!(!path.components().any(|part| matches!(part, Component::ParentDir)));
                if let Ok(mut opened) = workspace.open_file(&path) {
                    let mut text = String::new();
                    opened.file.read_to_string(&mut text).unwrap();
                    prop_assert_eq!(text, "INSIDE");
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

    fn write(workspace: &Workspace, path: &str, text: &str) -> Result<(), PathError> {
        workspace.write_file(&workspace.resolve(path)?, text.as_bytes())
    }

    #[test]
    fn write_file_replaces_only_regular_files() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        let outside = folder.path().join("outside.txt");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(&outside, "outside").unwrap();
        fs::write(root.join("run.sh"), "old").unwrap();
        fs::set_permissions(root.join("run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink("run.sh", root.join("link")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("escape")).unwrap();
        std::os::unix::fs::symlink("../nowhere.txt", root.join("dangling")).unwrap();
        let status = std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
        assert!(status.success());
        let workspace = Workspace::open_for(&root, None).unwrap();

        write(&workspace, "link", "new").unwrap();
        assert_eq!(fs::read_to_string(root.join("run.sh")).unwrap(), "new");
        assert!(root.join("link").is_symlink());
        let mode = fs::metadata(root.join("run.sh")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        write(&workspace, "made/for/it.txt", "it").unwrap();
        assert_eq!(fs::read_to_string(root.join("made/for/it.txt")).unwrap(), "it");

        for path in ["src", ".", "pipe", "escape", "dangling", "../outside.txt", "run.sh/below"] {
            assert!(write(&workspace, path, "no").is_err(), "{path} was written");
        }
        assert_eq!(fs::read_to_string(&outside).unwrap(), "outside");
        assert!(!folder.path().join("nowhere.txt").exists());
        let left = fs::read_dir(&root).unwrap().flatten();
        let left: Vec<_> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
        assert!(!left.iter().any(|name| name.starts_with(".openagents-")), "{left:?}");
    }
}
