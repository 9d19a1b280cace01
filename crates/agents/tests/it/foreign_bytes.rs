//! A turn ends, whatever bytes an agent writes.

use super::host::{Host, Scene, Setup};
use proptest::prelude::*;

fn lines() -> impl Strategy<Value = Vec<u8>> {
    let odd_update = prop::sample::select(vec![
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "usage_update",
        "config_option_update",
        "x",
    ]);
    let value = prop::sample::select(vec![
        "null",
        "7",
        "-1",
        "[]",
        "{}",
        "\"a\"",
        "[null]",
        "{\"type\":\"text\",\"text\":\"t\"}",
        "[{\"type\":\"terminal\",\"terminalId\":\"t\"}]",
        "\"completed\"",
        "\"1\"",
        "{\"terminal_exit\":{\"terminal_id\":\"t\",\"exit_code\":99999999999}}",
        "{\"terminal_output\":{\"terminal_id\":\"t\",\"data\":\"d\"}}",
    ]);
    let key = prop::sample::select(vec![
        "content",
        "toolCallId",
        "title",
        "status",
        "rawInput",
        "rawOutput",
        "locations",
        "entries",
        "_meta",
        "kind",
    ]);
    let update = (odd_update, prop::collection::vec((key, value), 0..6)).prop_map(|(kind, fields)| {
        let fields: String = fields.iter().map(|(key, value)| format!(",\"{key}\":{value}")).collect();
        format!("{{\"method\":\"session/update\",\"params\":{{\"update\":{{\"sessionUpdate\":\"{kind}\"{fields}}}}}}}\n")
            .into_bytes()
    });
    let method = prop::sample::select(vec![
        "session/request_permission",
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/kill",
        "terminal/release",
        "terminal/wait_for_exit",
        "",
    ]);
    let request = (method, any::<i8>()).prop_map(|(method, id)| {
        let params = "{\"path\":\"a\",\"content\":7,\"command\":\"\",\"terminalId\":\"t\",\"options\":[]}";
        format!("{{\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n").into_bytes()
    });
    let any_bytes = prop::collection::vec(any::<u8>(), 0..200);
    prop::collection::vec(prop_oneof![update, request, any_bytes], 0..20).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 50, ..ProptestConfig::default() })]

    #[test]
    fn turn_ends_despite_any_bytes(bytes in lines()) {
        let scene = Scene::new();
        let path = scene.folder.path().join("bytes");
        std::fs::write(&path, bytes).unwrap();
        scene.prompt(&format!("[[raw {}]]", path.display()));
    }

    #[test]
    fn start_ends_despite_any_bytes(bytes in lines()) {
        let host = Host::with([]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        std::fs::write(&path, bytes).unwrap();
        let path = path.display().to_string();
        let environment = &[("FAKE_AGENT_RAW", path.as_str())];
        Setup { environment, ..Setup::default() }.scene(host).prompt("hello");
    }
}
