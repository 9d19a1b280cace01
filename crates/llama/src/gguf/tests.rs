use super::{
    testing::{Draft, Pair},
    *,
};
use proptest::prelude::*;
use std::path::Path;

fn parse(bytes: &[u8]) -> Result<Header, GgufError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gguf");
    std::fs::write(&path, bytes).unwrap();
    Header::from_file(&path)
}

fn refusal(bytes: &[u8]) -> String {
    let shown = parse(bytes).unwrap_err().to_string();
    shown.rsplit_once('/').unwrap().1.to_owned()
}

#[test]
fn header_fields_are_read() {
    let header = parse(&Draft::gpt_oss().bytes()).unwrap();
    assert_eq!(header.architecture, "gpt-oss");
    assert_eq!(header.name.as_deref(), Some("Gpt Oss 20b"));
    assert_eq!(header.chat_template.as_deref(), Some("{{ messages }}"));
    assert_eq!(header.context_length, Some(131_072));
}

#[test]
fn gpt_oss_caches_48_kib_per_token() {
    assert_eq!(parse(&Draft::gpt_oss().bytes()).unwrap().cache_bytes_per_token(), 48 * 1024);
}

#[test]
fn cache_size_depends_on_layers() {
    let heads = Pair::Numbers(vec![0, 2, 4]);
    let draft = Draft::gpt_oss().with("gpt-oss.attention.head_count_kv", heads);
    assert_eq!(parse(&draft.bytes()).unwrap().cached_values, 6 * 128);
    // Without explicit sizes, 64 heads share the embedding of 2880.
    let mut draft = Draft::gpt_oss();
    draft.pairs.retain(|(key, _)| !key.ends_with("_length") || key.ends_with("embedding_length"));
    assert_eq!(parse(&draft.bytes()).unwrap().cached_values, 24 * 8 * (45 + 45));
}

#[test]
fn unusable_files_are_explained() {
    let whole = Draft::gpt_oss();
    let bytes = whole.bytes();
    let mut nested = b"GGUF\x03\0\0\0".to_vec();
    nested.extend(0_u64.to_le_bytes());
    nested.extend(1_u64.to_le_bytes());
    nested.extend(1_u64.to_le_bytes());
    nested.push(b'k');
    nested.extend(9_u32.to_le_bytes());
    (0..9).for_each(|_| {
        nested.extend(9_u32.to_le_bytes());
        nested.extend(1_u64.to_le_bytes());
    });
    let shown: Vec<String> = [
        b"# A text file\n".as_slice(),
        b"",
        &bytes[..200],
        &bytes[..bytes.len() - 1],
        &Draft { version: 1, ..whole.clone() }.bytes(),
        &Draft { version: 3_u32.swap_bytes(), ..whole.clone() }.bytes(),
        &whole.clone().with("general.type", Pair::Text("adapter")).bytes(),
        &whole.clone().with("split.count", Pair::U32(2)).bytes(),
        &whole.clone().with("general.alignment", Pair::U32(33)).bytes(),
        &whole.with("general.architecture", Pair::Text("")).bytes(),
        &nested,
    ]
    .iter()
    .map(|bytes| refusal(bytes))
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @"
    a.gguf is not a GGUF file, whatever its name says; choose another file or download the model again
    a.gguf is not a GGUF file, whatever its name says; choose another file or download the model again
    a.gguf is cut off: it has 200 of at least 222 bytes; copy or download it again
    a.gguf is cut off: it has 8223 of at least 8224 bytes; copy or download it again
    a.gguf is a GGUF file of version 1, but only 2 and 3 (little endian) are supported; get another build of the model
    a.gguf is a GGUF file of version 50331648, but only 2 and 3 (little endian) are supported; get another build of the model
    a.gguf is an adapter for another model and cannot answer by itself; choose the file of a chat model
    a.gguf is one part of a model that was split and cannot answer by itself; choose the file of a chat model
    a.gguf is damaged (its alignment is not a power of two); download it again or choose another file
    a.gguf is damaged (its header names no architecture); download it again or choose another file
    a.gguf is damaged (its header has nested arrays); download it again or choose another file
    ");
}

#[test]
fn claimed_lengths_allocate_nothing() {
    for claimed in [u64::MAX, 1 << 40, 65_537] {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(claimed.to_le_bytes());
        bytes.extend(claimed.to_le_bytes());
        assert!(
            matches!(parse(&bytes), Err(GgufError { fault: Fault::Malformed(_), .. })),
            "{claimed} pairs"
        );
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(claimed.to_le_bytes());
        assert!(
            matches!(parse(&bytes), Err(GgufError { fault: Fault::Malformed(_), .. })),
            "a key of {claimed} bytes"
        );
    }
}

#[test]
fn missing_file_is_named() {
    let shown = Header::from_file(Path::new("/nowhere/a.gguf")).unwrap_err().to_string();
    assert!(shown.starts_with("/nowhere/a.gguf: "), "{shown}");
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Header::from_file(folder.path()), Err(GgufError { fault: Fault::Unreadable(_), .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parse_accepts_any_bytes(tail in proptest::collection::vec(any::<u8>(), 0..400), version in 2_u32..4) {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(version.to_le_bytes());
        // Counts that pass the first check.
        bytes.extend(u64::from(tail.first().copied().unwrap_or(0) % 4).to_le_bytes());
        bytes.extend(u64::from(tail.last().copied().unwrap_or(0) % 4).to_le_bytes());
        bytes.extend(&tail);
        let _ = Header::parse(bytes.as_slice(), bytes.len() as u64);
        let _ = Header::parse(tail.as_slice(), tail.len() as u64);
    }

    #[test]
    fn parse_accepts_damaged_header(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Draft::gpt_oss().bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len() - 4_096);
            bytes[at] = byte;
        }
        if let Ok(header) = Header::parse(bytes.as_slice(), bytes.len() as u64) {
            let _ = header.cache_bytes_per_token();
        }
        bytes.truncate(end.index(bytes.len()));
        let _ = Header::parse(bytes.as_slice(), bytes.len() as u64);
    }
}

#[test]
fn pipes_and_devices_are_rejected_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.gguf");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for path in [pipe, "/dev/zero".into()] {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || drop(sender.send(Header::from_file(&path))));
        let refused = receiver.recv_timeout(std::time::Duration::from_secs(60)).expect("it hangs");
        assert!(
            matches!(refused, Err(GgufError { fault: Fault::Unreadable(why), .. }) if why == "it is not a file")
        );
    }
}
