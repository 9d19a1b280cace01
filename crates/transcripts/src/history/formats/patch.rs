//! Finds the files that a patch touches.

/// Prefixes of paths in an `apply_patch` patch.
const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// Adds the path after every header in `text`: a patch, a shell command with one, or the JavaScript of the tool `exec`,
/// where a line break may be written `\n`.
pub(super) fn touched(text: &str, files: &mut Vec<String>) {
    for (at, _) in text.match_indices("*** ") {
        let header = HEADERS.iter().find(|header| text[at..].starts_with(**header));
        let Some(header) = header else { continue };
        let rest = &text[at + header.len()..];
        let end = ["\n", "\\n", "\"", "'", "`", "\r"].iter().filter_map(|end| rest.find(end)).min();
        let path = rest[..end.unwrap_or(rest.len())].trim();
        if !path.is_empty() && !files.iter().any(|file| file == path) {
            files.push(path.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form() {
        let rows: [(&str, &[&str]); 5] = [
            ("*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** End Patch", &["src/a.rs"]),
            (
                "*** Add File: a\n+1\n*** Delete File: b\n*** Update File: c\n*** Move to: d\n",
                &["a", "b", "c", "d"],
            ),
            ("apply_patch <<'EOF'\n*** Update File: /w/a.rs\nEOF", &["/w/a.rs"]),
            (
                r#"await tools.apply_patch("*** Begin Patch\n*** Add File: made.txt\n+hi\n*** End Patch")"#,
                &["made.txt"],
            ),
            ("nothing *** here", &[]),
        ];
        for (text, expected) in rows {
            let mut files = vec![];
            touched(text, &mut files);
            assert_eq!(files, expected, "{text}");
        }
    }
}
