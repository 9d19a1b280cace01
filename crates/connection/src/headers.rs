//! Reads HTTP headers.

use axum::http::{HeaderMap, HeaderName, header};

/// Returns the items of a header whose value is a comma-separated list, from all of its lines.
pub fn list_items<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

pub fn without_parameters(item: &str) -> &str {
    item.split(';').next().unwrap_or_default().trim()
}

pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| without_parameters(kind).eq_ignore_ascii_case("application/json"))
}
