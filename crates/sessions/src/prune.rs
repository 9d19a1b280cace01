//! Shrinks an output for a client without changing its shape: lists get shorter and long strings are cut, but no
//! structure becomes a string. The store keeps the whole output.

use serde_json::{Map, Value};

/// Strings shorter than this many bytes are not worth cutting.
const SHORT: usize = 64;

const ELLIPSIS: &str = "…";

/// Returns `value` cut to at most `limit` bytes of compact JSON, and whether anything was cut.
pub fn to_fit(value: &Value, limit: usize) -> (Value, bool) {
    if size(value) <= limit {
        return (value.clone(), false);
    }
    (shrink(value, limit), true)
}

/// Returns the size of the compact JSON.
pub fn size(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => quoted(text),
        Value::Array(items) => 2 + items.iter().map(size).sum::<usize>() + items.len().saturating_sub(1),
        Value::Object(members) => {
            2 + members.iter().map(|(key, value)| quoted(key) + 1 + size(value)).sum::<usize>()
                + members.len().saturating_sub(1)
        }
    }
}

fn quoted(text: &str) -> usize {
    2 + text.chars().map(escaped_len).sum::<usize>()
}

fn escaped_len(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

fn shrink(value: &Value, limit: usize) -> Value {
    match value {
        _ if size(value) <= limit => value.clone(),
        Value::String(text) => Value::String(cut_text(text, limit)),
        Value::Array(items) => Value::Array(shrink_array(items, limit)),
        Value::Object(members) => Value::Object(shrink_object(members, limit)),
        // A scalar has no smaller form; its parent drops it when it does not fit.
        scalar => scalar.clone(),
    }
}

/// Keeps the first items. Shrinks the first one if not even that fits.
fn shrink_array(items: &[Value], limit: usize) -> Vec<Value> {
    let mut kept = Vec::new();
    let mut used = 2;
    for item in items {
        let comma = usize::from(!kept.is_empty());
        let room = limit.saturating_sub(used + comma);
        let item_size = size(item);
        if item_size <= room {
            kept.push(item.clone());
            used += comma + item_size;
            continue;
        }
        if kept.is_empty() {
            let smaller = shrink(item, room);
            if size(&smaller) <= room {
                kept.push(smaller);
            }
        }
        break;
    }
    kept
}

/// Keeps small members; the large ones share the remaining space evenly.
fn shrink_object(members: &Map<String, Value>, limit: usize) -> Map<String, Value> {
    let sizes: Vec<usize> = members.values().map(size).collect();
    let frame: usize =
        2 + members.keys().map(|key| quoted(key) + 1).sum::<usize>() + members.len().saturating_sub(1);
    if frame > limit {
        return shrink_map(members, limit);
    }
    let share = fair_share(&sizes, limit - frame);
    let mut result = Map::new();
    for ((key, value), size) in members.iter().zip(sizes) {
        result.insert(key.clone(), if size <= share { value.clone() } else { shrink(value, share) });
    }
    // Only scalars larger than their share did not shrink.
    if size_of_map(&result) > limit { shrink_map(&result, limit) } else { result }
}

/// Returns the largest share such that all sizes, capped to it, fit into `room`.
fn fair_share(sizes: &[usize], room: usize) -> usize {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (index, size) in sorted.iter().enumerate() {
        let even = left / (sorted.len() - index);
        if *size > even {
            return even;
        }
        left -= size;
    }
    room
}

/// Keeps the first members of an object that is used as a map (file → count).
fn shrink_map(members: &Map<String, Value>, limit: usize) -> Map<String, Value> {
    let mut kept = Map::new();
    let mut used = 2;
    for (key, value) in members {
        let cost = usize::from(!kept.is_empty()) + quoted(key) + 1 + size(value);
        if used + cost > limit {
            break;
        }
        used += cost;
        kept.insert(key.clone(), value.clone());
    }
    kept
}

fn size_of_map(members: &Map<String, Value>) -> usize {
    members.iter().map(|(key, value)| quoted(key) + 2 + size(value)).sum::<usize>() + 2
}

fn cut_text(text: &str, limit: usize) -> String {
    let room = limit.saturating_sub(2 + ELLIPSIS.len());
    if room < SHORT.min(limit) / 2 {
        return String::new();
    }
    let mut used = 0;
    let end = text
        .char_indices()
        .find(|(_, character)| {
            used += escaped_len(*character);
            used > room
        })
        .map_or(text.len(), |(index, _)| index);
    format!("{}{ELLIPSIS}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const LIMIT: usize = 16_384;

    #[test]
    fn prune_keeps_value_that_fits() {
        let value = json!({"matches": [1, 2, 3]});
        assert_eq!(to_fit(&value, 100), (value, false));
    }

    #[test]
    fn prune_shortens_lists_and_keeps_flags() {
        let line = "x".repeat(100);
        let matches: Vec<Value> = (0..1000).map(|n| json!({"line_number": n, "line": line})).collect();
        let value = json!({"pattern": "x", "matches": matches, "truncated": false, "total_matches": 1000});
        let (small, cut) = to_fit(&value, LIMIT);
        assert!(cut && size(&small) <= LIMIT && size(&small) > LIMIT - 200);
        assert_eq!(small["pattern"], "x");
        assert_eq!(small["total_matches"], 1000);
        assert_eq!(small["matches"][0], value["matches"][0]);
    }

    #[test]
    fn prune_keeps_bare_list_a_list() {
        let names: Vec<String> = (0..5000).map(|n| format!("directory-{n}/")).collect();
        let (small, cut) = to_fit(&json!(names), LIMIT);
        assert!(cut && small.as_array().is_some_and(|items| items.len() > 700));
    }

    #[test]
    fn prune_splits_space_between_lists() {
        let value =
            json!({"a": vec!["long text here"; 1000], "b": vec!["long text here"; 1000], "c": ["short"]});
        let (small, _) = to_fit(&value, 2000);
        let lengths: Vec<usize> =
            ["a", "b", "c"].iter().map(|key| small[key].as_array().map_or(0, Vec::len)).collect();
        assert_eq!(lengths[0], lengths[1]);
        assert!(lengths[0] > 20);
        assert_eq!(lengths[2], 1);
    }

    #[test]
    fn prune_drops_members_of_count_map() {
        let counts: Map<String, Value> = (0..5000).map(|n| (format!("src/file-{n}.rs"), json!(n))).collect();
        let (small, _) = to_fit(&json!({"fileFrequency": counts, "userIntent": "Fix it"}), LIMIT);
        assert_eq!(small["userIntent"], "Fix it");
        assert!(small["fileFrequency"].as_object().is_some_and(|members| members.len() > 400));
    }

    #[test]
    fn prune_cuts_string_at_char_boundary() {
        let (small, _) = to_fit(&json!({"text": "é\"".repeat(50_000)}), 1000);
        assert!(size(&small) <= 1000);
        assert!(small["text"].as_str().is_some_and(|text| text.ends_with("…") && text.len() > 600));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,80}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::hash_map(".{0,12}", inner, 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn size_matches_compact_json(value in any_json()) {
            prop_assert_eq!(size(&value), value.to_string().len());
        }

        #[test]
        fn pruned_containers_fit_and_keep_kind(value in any_json(), limit in 2usize..600) {
            let (small, cut) = to_fit(&value, limit);
            prop_assert_eq!(cut, size(&value) > limit);
            prop_assert_eq!(small.is_array(), value.is_array());
            prop_assert_eq!(small.is_object(), value.is_object());
            if value.is_array() || value.is_object() || value.is_string() {
                prop_assert!(size(&small) <= limit.max(2), "{} > {}", small, limit);
            }
        }
    }
}
