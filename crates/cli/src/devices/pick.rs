//! Finds a row by the beginning of its id.

use serde_json::Value;

/// Returns the only row whose id begins with `typed`. `what` names the rows in the error.
pub(super) fn pick<'a>(rows: &'a Value, typed: &str, what: &str) -> anyhow::Result<&'a Value> {
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    let id = |row: &Value| row["id"].as_str().unwrap_or_default().to_owned();
    if let Some(exact) = rows.iter().find(|row| id(row) == typed) {
        return Ok(exact);
    }
    let found: Vec<&Value> =
        rows.iter().filter(|row| !typed.is_empty() && id(row).starts_with(typed)).collect();
    match found.as_slice() {
        [one] => Ok(one),
        [] => anyhow::bail!("no {what} id begins with {typed}; see `openagents devices list`"),
        many => anyhow::bail!("{} {what} ids begin with {typed}; type more of the id", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::short;
    use serde_json::json;

    #[test]
    fn the_beginning_is_enough_where_it_is_the_only_one() {
        let rows = json!([{"id": "abc"}, {"id": "abd"}, {"id": "b"}, {"id": "b2"}]);
        let found = |typed: &str| {
            pick(&rows, typed, "device")
                .map(|row| row["id"].as_str().unwrap().to_owned())
                .map_err(|e| e.to_string())
        };
        assert_eq!(found("abd"), Ok("abd".to_owned()));
        assert_eq!(found("b"), Ok("b".to_owned()), "a whole id is no beginning of another");
        let refused = "no device id begins with c; see `openagents devices list`";
        assert_eq!(found("c"), Err(refused.to_owned()));
        assert_eq!(found("ab"), Err("2 device ids begin with ab; type more of the id".to_owned()));
        assert!(found("").is_err());
        assert_eq!((short("12345678-90"), short("ä2")), ("12345678", "ä2"));
    }
}
