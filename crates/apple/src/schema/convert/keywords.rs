//! Single keywords of a JSON schema.

use serde_json::{Map, Value};

pub(super) fn kind_of(members: &Map<String, Value>) -> Option<&str> {
    let inferred = || {
        let has = |key: &str| members.contains_key(key);
        if has("properties") || has("required") || has("additionalProperties") {
            Some("object")
        } else {
            has("items").then_some("array")
        }
    };
    members.get("type").map_or_else(inferred, |kind| kind.as_str().or(Some("")))
}

pub(super) fn is_structural(members: &Map<String, Value>) -> bool {
    ["type", "properties", "items", "anyOf", "oneOf", "enum", "const"]
        .iter()
        .any(|key| members.contains_key(*key))
}

/// Returns constraints worth stating in the description: they are only checked on arrival.
pub(super) fn noted(members: &Map<String, Value>) -> Option<String> {
    let pattern = text_of(members, "pattern").map(|pattern| format!("matches {pattern}"));
    let of_text = members.get("type").and_then(Value::as_str) == Some("string");
    pattern
        .or_else(|| text_of(members, "format").filter(|_| of_text).map(|format| format!("format {format}")))
}

/// Returns the minimum and maximum. Contradictory bounds are ignored here and checked on arrival.
pub(super) fn bounds<T: Copy + PartialOrd>(
    members: &Map<String, Value>,
    read: impl Fn(&Value) -> Option<T>,
    moved: impl Fn(T, i64) -> T,
) -> (Option<T>, Option<T>) {
    let bound = |key: &str| members.get(key).and_then(&read);
    let minimum = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|bound| moved(bound, 1)));
    let maximum = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|bound| moved(bound, -1)));
    if minimum.zip(maximum).is_some_and(|(least, most)| least > most) {
        (None, None)
    } else {
        (minimum, maximum)
    }
}

/// Returns an integer, even if it is written as a float.
pub(super) fn whole(value: &Value) -> Option<i64> {
    let integral = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().filter(|_| !value.is_u64()).and_then(integral))
}

pub(super) fn text_of(members: &Map<String, Value>, key: &str) -> Option<String> {
    members.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The preferred name of a schema.
pub(super) fn titled(members: &Map<String, Value>, name: &str) -> String {
    text_of(members, "title").unwrap_or_else(|| name.to_owned())
}
