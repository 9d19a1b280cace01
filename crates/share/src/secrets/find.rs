//! Finds secrets in one text.

use super::rules::{Matched, RULES};
use std::ops::Range;

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) rule: &'static str,
    pub(super) secret: Range<usize>,
    /// With what shows that it is a secret, such as the name before it.
    pub(super) whole: Range<usize>,
}

/// Maximum bytes of a secret: longer matches are two that do not belong together.
const SECRET: usize = 16 << 10;
/// Maximum bytes of a line that is looked at before and after a secret.
const LINE: usize = 500;

/// Returns the secrets in a text, in order and without overlaps.
pub(super) fn find(text: &str) -> Vec<Secret> {
    let mut found: Vec<(usize, Secret)> = Vec::new();
    for (order, rule) in RULES.of(text).enumerate() {
        let Some(regex) = rule.regex() else { continue };
        for captures in regex.captures_iter(text) {
            let (Some(whole), Some(secret)) = (captures.get(0), rule.secret(&captures)) else { continue };
            // Some patterns include the quotation marks.
            let quoted = secret.as_str();
            let inner = quoted.trim_matches(['"', '\'', '`', '\\']);
            let start =
                secret.start() + (quoted.len() - quoted.trim_start_matches(['"', '\'', '`', '\\']).len());
            let secret = start..start + inner.len();
            if inner.is_empty() || whole.len() > SECRET {
                continue;
            }
            let line = line_of(text, secret.clone());
            let matched = Matched { secret: inner, whole: whole.as_str(), line };
            let is_id = is_public_id(matched.secret)
                && (rule.is_general() || !names_it(matched.whole, matched.secret));
            if !is_id && !is_hidden(matched.secret) && rule.accepts(matched) {
                let secret = Secret { rule: &rule.id, secret, whole: whole.range() };
                found.push((order, secret));
            }
        }
    }
    merged(found)
}

/// Merges secrets that overlap: the first rule of them names the secret, and everything that any of them found is one.
fn merged(mut found: Vec<(usize, Secret)>) -> Vec<Secret> {
    found.sort_by_key(|(order, secret)| (secret.secret.start, *order));
    let mut merged: Vec<(usize, Secret)> = Vec::new();
    for (order, new) in found {
        match merged.last_mut().filter(|(_, last)| new.secret.start < last.secret.end) {
            Some((named, last)) => {
                if order < *named {
                    (*named, last.rule) = (order, new.rule);
                }
                last.secret.end = last.secret.end.max(new.secret.end);
                last.whole = last.whole.start.min(new.whole.start)..last.whole.end.max(new.whole.end);
            }
            None => merged.push((order, new)),
        }
    }
    merged.into_iter().map(|(_, secret)| secret).collect()
}

/// Returns the line of a match, or its part near the match.
fn line_of(text: &str, range: Range<usize>) -> &str {
    let first = text.ceil_char_boundary(range.start.saturating_sub(LINE));
    let last = text.floor_char_boundary(range.end.saturating_add(LINE));
    let start = text[first..range.start].rfind('\n').map_or(first, |at| first + at + 1);
    let end = text[range.end..last].find('\n').map_or(last, |at| range.end + at);
    &text[start..end]
}

/// Returns whether a text has the form of a UUID, a Git id or a digest.
fn is_public_id(text: &str) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_uuid = || {
        let lengths: Vec<usize> = text.split('-').map(str::len).collect();
        lengths == [8, 4, 4, 4, 12] && text.split('-').all(is_hex)
    };
    matches!(text.len(), 32 | 40 | 56 | 64 | 96 | 128) && is_hex(text) || text.len() == 36 && is_uuid()
}

/// Returns whether a match has more than the secret, such as the name of a key.
fn names_it(whole: &str, secret: &str) -> bool {
    whole.trim_matches(|sign: char| !sign.is_alphanumeric()).len() > secret.len() + 2
}

/// It has been replaced already.
fn is_hidden(text: &str) -> bool {
    text.starts_with("[hidden:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secrets(text: &str) -> Vec<(&str, &str)> {
        find(text).into_iter().map(|secret| (secret.rule, &text[secret.secret])).collect()
    }

    #[test]
    fn secrets_are_found_with_their_rules() {
        let rows = [
            (
                "use ghp_9aJ2kLmN0pQrStUvWxYz1234567890AbCdEf now",
                "github-pat",
                "ghp_9aJ2kLmN0pQrStUvWxYz1234567890AbCdEf",
            ),
            ("postgres://app:hX7-kp29@db:5432/app", "url-password", "hX7-kp29"),
            ("Authorization: Bearer q8Zk2mVx93LpTr7d", "authorization-header", "q8Zk2mVx93LpTr7d"),
            ("A=1\nexport STRIPE_SECRET=whz_8871kqPz02\nB=2", "env-secret", "whz_8871kqPz02"),
            (r#"{"db_password": "Tr0ub4dor-and-3"}"#, "json-secret", "Tr0ub4dor-and-3"),
            ("mysql --password=Tr0ub4dor-and-3 shop", "password-option", "Tr0ub4dor-and-3"),
            ("machine git.example login jo password h9Kq", "netrc-password", "h9Kq"),
            ("Server=db;User=sa;Password=Zq81-kPw0-33x;Encrypt=true", "connection-string", "Zq81-kPw0-33x"),
        ];
        for (text, rule, secret) in rows {
            assert!(secrets(text).contains(&(rule, secret)), "{text}: {:?}", secrets(text));
        }
        let key = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
            "Mq9x7Z2k".repeat(20)
        );
        assert_eq!(secrets(&format!("a\n{key}\nb")), [("private-key", key.as_str())]);
    }

    #[test]
    fn ids_digests_and_placeholders_are_no_secrets() {
        for text in [
            "session 0199a2b4-1111-7000-8000-000000000001",
            "api_key = 0199a2b4-1111-7000-8000-000000000001",
            "commit 83d9cd684c87d95d656c1458ef04895a7f1cbd8e sourcegraph",
            "sha256 e163e53b9e7e8a8511e77271e2b323ed057759542a6d988258afe3a1fa329caf",
            "ANTHROPIC_API_KEY=sk-ant-...",
            "Authorization: Bearer <TOKEN>",
            "Authorization: Bearer $GITHUB_TOKEN",
            "DB_PASSWORD=changeme",
            "postgres://postgres:postgres@localhost/app",
            "postgres://user:password@localhost/app",
            "https://user:${PASSWORD}@example.com",
            "MAX_TOKENS=4096",
            "TOKEN_FILE=/run/secrets/token",
            "const key = event.key;",
            r#"{"password": "must be at least eight characters"}"#,
            "the key is in [hidden: github-pat]",
        ] {
            assert_eq!(secrets(text), [], "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_searched(text in "(?s).{0,300}") {
            let found = find(&text);
            let mut end = 0;
            for secret in found {
                prop_assert!(secret.secret.start >= end && text.get(secret.secret.clone()).is_some());
                end = secret.secret.end;
            }
        }
    }
}
