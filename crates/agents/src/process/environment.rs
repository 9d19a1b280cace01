//! What a child process gets to know of the environment.

/// Leaves out what is ours: tokens and folders of this app are no agent's business.
pub(crate) fn filtered<'a>(
    environment: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    let is_ours = |name: &str| name.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("OPENAGENTS_"));
    // The system takes neither of them.
    let is_odd =
        |name: &str, value: &str| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    environment.into_iter().filter(move |(name, value)| !is_ours(name) && !is_odd(name, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn secrets_of_ours_stay_here() {
        let pairs = ["OPENAGENTS_HOME", "openagents_token", "OPENAGENTSX", "PATH", "Ä", "", "A=B"];
        let all: BTreeMap<_, _> = pairs.map(|name| (name.to_owned(), "x".to_owned())).into();
        let left: Vec<_> = filtered(&all).map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["OPENAGENTSX", "PATH", "Ä"]);
    }
}
