//! Parses git's configuration files: the section "Syntax" of git-config(1). Where git stops at an error, this parser
//! continues with the next line.

use std::{iter::Peekable, str::Chars};

/// A variable, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigEntry {
    /// `remote.Origin.url`: section and variable in lower case, the subsection as written.
    pub(super) key: String,
    /// `true` if the variable has no value.
    pub(super) value: String,
}

/// Returns the variables of a configuration file.
pub(super) fn entries(text: &str) -> Vec<ConfigEntry> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let (mut signs, mut section, mut found) = (text.chars().peekable(), String::new(), Vec::new());
    while let Some(sign) = signs.next() {
        match sign {
            '#' | ';' => skip_line(&mut signs),
            '[' => match read_section(&mut signs) {
                Some(name) => section = name,
                None => skip_line(&mut signs),
            },
            sign if sign.is_ascii_alphabetic() => {
                let mut name = String::from(sign.to_ascii_lowercase());
                while let Some(sign) = signs.next_if(|sign| sign.is_ascii_alphanumeric() || *sign == '-') {
                    name.push(sign.to_ascii_lowercase());
                }
                while signs.next_if(|sign| matches!(sign, ' ' | '\t')).is_some() {}
                let value = match signs.next() {
                    Some('=') => read_value(&mut signs),
                    None | Some('\n') => "true".to_owned(),
                    Some(_) => {
                        skip_line(&mut signs);
                        continue;
                    }
                };
                found.push(ConfigEntry { key: format!("{section}.{name}"), value });
            }
            sign if sign.is_whitespace() => {}
            _ => skip_line(&mut signs),
        }
    }
    found
}

fn skip_line(signs: &mut Peekable<Chars<'_>>) {
    for sign in signs {
        if sign == '\n' {
            break;
        }
    }
}

/// Reads `core]` or `remote "origin"]`.
fn read_section(signs: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut name = String::new();
    loop {
        match signs.next_if(|sign| *sign != '\n')? {
            ']' => return Some(name),
            ' ' | '\t' | '\r' => {}
            '"' => break,
            sign => name.push(sign.to_ascii_lowercase()),
        }
    }
    name.push('.');
    loop {
        match signs.next_if(|sign| *sign != '\n')? {
            '"' => break,
            '\\' => name.push(signs.next_if(|sign| *sign != '\n')?),
            sign => name.push(sign),
        }
    }
    (signs.next_if(|sign| *sign == ']')).map(|_| name)
}

/// Reads the rest of a line, and its continuation lines.
fn read_value(signs: &mut Peekable<Chars<'_>>) -> String {
    let (mut value, mut spaces, mut is_quoted, mut is_comment) = (String::new(), String::new(), false, false);
    while let Some(sign) = signs.next() {
        match sign {
            '\n' => break,
            _ if is_comment => {}
            ' ' | '\t' | '\r' if !is_quoted => {
                if !value.is_empty() {
                    spaces.push(sign);
                }
            }
            '#' | ';' if !is_quoted => is_comment = true,
            '"' => is_quoted = !is_quoted,
            sign => {
                let sign = match sign {
                    '\\' => match signs.next() {
                        Some('\n') => continue,
                        Some('t') => '\t',
                        Some('b') => '\u{8}',
                        Some('n') => '\n',
                        Some(other) => other,
                        None => break,
                    },
                    other => other,
                };
                value.push_str(&spaces);
                spaces.clear();
                value.push(sign);
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    /// Returns the entries that git reads; `None` if it rejects the file.
    fn as_git_reads(text: &str) -> Option<Vec<(String, String)>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        let output = Command::new("git")
            .args(["config", "--no-includes", "--list", "-z", "--file"])
            .arg(&path)
            .output()
            .unwrap();
        let listed = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        let entries = listed.split_terminator('\0').map(|entry| {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            (key.to_owned(), value.to_owned())
        });
        Some(entries.collect())
    }

    fn read(text: &str) -> Vec<(String, String)> {
        entries(text).into_iter().map(|ConfigEntry { key, value }| (key, value)).collect()
    }

    #[test]
    fn configurations_are_read_as_git_reads_them() {
        for text in [
            "[core]\n\tfsmonitor = curl evil # x\n",
            "[core]fsmonitor=a;b\n[CORE] FSMonitor = \"a;b\" c ; d\n",
            "[alias \"a\\\"b\\\\c\"]\n x = !sh \\\n  -c 'y'\n[a.B] c\n",
            "\u{feff}[a]\r\n b = c\r\n d\r\n",
            "; only\n# comments\n",
            "[a]\n b = \"c  \" d   \n e = \\t\\n\\\"\n",
            "[remote \"o\"]url=ext::sh -c x\n\tfetch = +a:b\n",
        ] {
            let expected = as_git_reads(text).unwrap_or_else(|| panic!("git refuses {text:?}"));
            assert_eq!(read(text), expected, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// No entry that git sees is missed, whatever the file looks like.
        #[test]
        fn what_git_reads_is_read(signs in prop::collection::vec(prop::sample::select("[]\"\\=;#.-!\t\n ab1:core\r".chars().collect::<Vec<_>>()), 0..60)) {
            let text = format!("[core]\n{}", signs.into_iter().collect::<String>());
            let read = read(&text);
            for entry in as_git_reads(&text).unwrap_or_default() {
                prop_assert!(read.contains(&entry), "{:?} in {:?}: {:?}", entry, text, read);
            }
        }

        #[test]
        fn any_text_is_read_to_its_end(text in any::<String>()) {
            entries(&text);
        }
    }
}
