//! The parsers of untrusted bytes, one function per kind of input. They must never panic; the fuzz targets and the
//! tests below search for inputs that make them panic.

use crate::{acp, server::origin::Hosts};
use axum::http::{HeaderMap, HeaderValue, header};
use openagents_connection::{
    rpc::{self, Id, Incoming},
    socket,
};
use openagents_remote::{devices::pairing, network::addresses};
use openagents_wire::{Listener, Scope};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Parses a frame of the ACP endpoint, for clients of every scope.
pub fn acp_frame(bytes: &[u8]) {
    let Some((text, parsed)) = frame(bytes) else { return };
    socket::route_frame(text);
    match parsed {
        Incoming::Request { id, method, params } => {
            for scope in [Scope::View, Scope::Prompt, Scope::Approve, Scope::Admin] {
                if let Err(fault) = acp::call(&method, params.clone(), scope) {
                    is_answer(&rpc::error(Some(&id), &fault), Some(&id));
                }
            }
            is_answer(&rpc::response(&id, &params), Some(&id));
        }
        Incoming::Notification { method, params } => {
            acp::cancelled(&method, params);
        }
        Incoming::Response { .. } => {}
    }
}

/// Parses a frame of the iOS endpoint.
pub fn ios_frame(bytes: &[u8]) {
    if let Some((_, Incoming::Request { id, method, params })) = frame(bytes)
        && let Err(fault) = openagents_ios::parse_call(&method, &params)
    {
        is_answer(&rpc::error(Some(&id), &fault), Some(&id));
    }
}

/// Parses the input of an unauthenticated client: host, origin and pairing code.
pub fn unauthenticated(bytes: &[u8]) {
    if let Ok(value) = HeaderValue::from_bytes(bytes) {
        let hosts = Hosts::default();
        for listener in [Listener::Loopback, Listener::Web] {
            let headers: HeaderMap =
                [(header::HOST, value.clone()), (header::ORIGIN, value.clone())].into_iter().collect();
            hosts.allow_host(&headers, listener);
            hosts.allow_origin(&headers, listener);
        }
    }
    if let Ok(text) = str::from_utf8(bytes) {
        addresses::host_name(text);
        pairing::Code::parse(text);
    }
}

/// Parses a frame. If it is malformed, checks the error response.
fn frame(bytes: &[u8]) -> Option<(&str, Incoming)> {
    let text = str::from_utf8(bytes).ok()?;
    match rpc::parse(text) {
        Ok(incoming) => Some((text, incoming)),
        Err(malformed) => {
            is_answer(&rpc::error(malformed.id.as_ref(), &malformed.fault), malformed.id.as_ref());
            None
        }
    }
}

/// Checks that a response is one line of JSON and echoes the id byte for byte.
fn is_answer(text: &str, id: Option<&Id>) {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        id: &'a RawValue,
    }
    let answer = serde_json::from_str::<Answer<'_>>(text).ok();
    assert_eq!(answer.map(|answer| answer.id.get()), Some(id.map_or("null", Id::as_str)), "{text}");
    assert!(!text.contains('\n'), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const METHODS: &str = "initialize|session/(new|load|list|prompt|cancel|close|resume|set_mode|delete)|\
        _openagents/(explore|attach|update|inspect|delegate|approvals/answer|devices/(allow|scope|network)|\
        models/(list|load)|agents/(list|check))|orchestrate.explore.start|tinyvex/history.sessionTimeline|threads/list";
    const KEYS: &str = "sessionId|session_id|prompt|content|cwd|root|goals|since|seq|limit|type|text|mode_id|modeId|\
        mcpServers|protocolVersion|clientCapabilities|requestId|scope|name|id|lan|ios|_meta|openagents";

    fn any_json() -> impl Strategy<Value = String> + Clone {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("1e999".to_owned()),
            Just("-0.0".to_owned()),
            any::<i128>().prop_map(|number| number.to_string()),
            any::<f64>().prop_map(|number| format!("{number:e}")),
            any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
            Just(r#""\ud800""#.to_owned()),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
                // A key may be repeated.
                prop::collection::vec((KEYS, inner), 0..4).prop_map(|members| {
                    let members: Vec<_> =
                        members.iter().map(|(key, value)| format!("{key:?}:{value}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    fn any_frame() -> impl Strategy<Value = Vec<u8>> {
        let frame = (METHODS, any_json(), any_json()).prop_map(|(method, id, params)| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method:?},"params":{params}}}"#).into_bytes()
        });
        prop_oneof![
            4 => frame.clone(),
            1 => (frame, any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut frame, at, byte)| {
                let at = at.index(frame.len());
                frame[at] = byte;
                frame
            }),
            1 => any::<Vec<u8>>(),
            1 => any_json().prop_map(String::into_bytes),
            1 => (1usize..20_000).prop_map(|depth| "[".repeat(depth).into_bytes()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        #[test]
        fn any_frame_gets_an_answer(frame in any_frame()) {
            acp_frame(&frame);
            ios_frame(&frame);
        }

        #[test]
        fn any_unauthenticated_input_is_handled(input in prop_oneof![
            any::<Vec<u8>>(),
            r"(https?://)?\[?[0-9a-fA-F:.]{0,12}\]?:?[0-9]{0,6}".prop_map(String::into_bytes),
            "[a-z0-9-]{0,8}(\\.(local|localhost|ts\\.net))?:?[0-9]{0,3}".prop_map(String::into_bytes),
            "[0-9a-zA-Z -]{0,12}".prop_map(String::into_bytes),
        ]) {
            unauthenticated(&input);
        }
    }
}
