//! The environment passed to child processes.

/// Removes our own variables: agents must not see tokens and folders of this app.
pub(crate) fn filtered<'a>(
    environment: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> impl Iterator<Item = (&'a String, &'a String)> {
    environment.into_iter().filter(|(name, value)| is_for_children(name, value))
}

/// Returns whether a variable is not ours and valid for the system.
pub(crate) fn is_for_children(name: &str, value: &str) -> bool {
    let is_ours = name.get(..11).is_some_and(|start| start.eq_ignore_ascii_case("OPENAGENTS_"));
    let is_odd = name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    !is_ours && !is_odd
}

/// Returns whether a variable holds a secret, by its name. Commands chosen by an agent don't need the person's keys.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words = ["KEY", "TOKEN", "SECRET"];
    words
        .iter()
        .any(|word| name.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('_')))
        || name.contains("PASSWORD")
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

    #[test]
    fn secrets_are_known_by_their_names() {
        let secret =
            ["OPENAI_API_KEY", "github_token", "AWS_SECRET_ACCESS_KEY", "X_SECRET", "PGPASSWORD", "TOKEN"];
        assert_eq!(secret.map(is_secret), [true; 6]);
        let plain = ["PATH", "HOME", "SSH_AUTH_SOCK", "MONKEY", "KEYBOARD", "GPG_KEYS"];
        assert_eq!(plain.map(is_secret), [false; 6]);
    }
}
