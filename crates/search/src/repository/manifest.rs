//! Reads the name and the description from a manifest.

use super::readme::{Description, first_sentence};
use serde_json::Value;

/// Manifests in order of preference.
pub(super) const NAMES: [&str; 12] = [
    "Cargo.toml",
    "package.json",
    "pyproject.toml",
    "composer.json",
    "pubspec.yaml",
    "setup.cfg",
    "pom.xml",
    "go.mod",
    "Package.swift",
    "build.gradle",
    "CMakeLists.txt",
    "Makefile",
];

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) name: Option<String>,
    pub(super) description: Option<Description>,
}

pub(super) fn parse(text: &str, path: &str) -> Manifest {
    let (name, description) = match path {
        "Cargo.toml" => fields(toml::from_str(text).ok(), &["/package", "/workspace/package"]),
        "pyproject.toml" => fields(toml::from_str(text).ok(), &["/project", "/tool/poetry"]),
        "package.json" | "composer.json" => fields(serde_json::from_str(text).ok(), &[""]),
        "pubspec.yaml" => Some((after(text, "name:"), after(text, "description:"))),
        "setup.cfg" => Some((after(text, "name ="), after(text, "description ="))),
        "pom.xml" => {
            Some((between(text, "<name>", "</name>"), between(text, "<description>", "</description>")))
        }
        "go.mod" => Some((after(text, "module "), None)),
        _ => None,
    }
    .unwrap_or_default();
    let description = description.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    Manifest {
        name: name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()),
        description: description.map(|declared| Description {
            line: line_of(text, &declared),
            text: first_sentence(&declared),
            path: path.to_owned(),
        }),
    }
}

type Fields = (Option<String>, Option<String>);

/// Reads the first of these tables that exists, each given as a JSON pointer.
fn fields(document: Option<Value>, tables: &[&str]) -> Option<Fields> {
    let document = document?;
    let table = tables.iter().find_map(|table| document.pointer(table))?;
    let field = |name: &str| table.get(name).and_then(Value::as_str).map(str::to_owned);
    Some((field("name"), field("description")))
}

/// Returns the rest of the first line that starts with `key`.
fn after(text: &str, key: &str) -> Option<String> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(rest.trim().trim_matches(['"', '\'']).to_owned())
}

fn between(text: &str, open: &str, close: &str) -> Option<String> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close)?.0.to_owned())
}

/// Returns the line, from 1, with the first words of a description.
fn line_of(text: &str, description: &str) -> u64 {
    let head: String = description.lines().next().unwrap_or_default().chars().take(40).collect();
    let at = text.lines().position(|line| line.contains(&head));
    at.map_or(1, |index| index as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_description_is_parsed_per_kind() {
        let rows = [
            (
                "Cargo.toml",
                "[package]\nname = \"fd\"\ndescription = \"A fast find.\"\n",
                "fd",
                Some(("A fast find.", 3)),
            ),
            (
                "Cargo.toml",
                "[workspace.package]\ndescription = \"Many crates\"\n",
                "",
                Some(("Many crates", 2)),
            ),
            (
                "package.json",
                "{\n \"name\": \"vite\",\n \"description\": \"Tooling\"\n}",
                "vite",
                Some(("Tooling", 3)),
            ),
            ("pyproject.toml", "[project]\nname='x'\ndescription='Y'\n", "x", Some(("Y", 3))),
            ("pyproject.toml", "[tool.poetry]\nname='x'\ndescription='Z'\n", "x", Some(("Z", 3))),
            (
                "pom.xml",
                "<project>\n<name>j</name>\n<description>\nJava</description>",
                "j",
                Some(("Java", 4)),
            ),
            ("go.mod", "module example.com/x\n", "example.com/x", None),
            ("pubspec.yaml", "name: app\ndescription: \"D\"\n", "app", Some(("D", 2))),
            ("Makefile", "all:\n", "", None),
            ("Cargo.toml", "not toml [", "", None),
        ];
        for (path, text, name, description) in rows {
            let manifest = parse(text, path);
            assert_eq!(manifest.name.unwrap_or_default(), name, "{path} {text}");
            let found = manifest.description.map(|found| (found.text, found.line));
            assert_eq!(found, description.map(|(text, line)| (text.to_owned(), line)), "{path} {text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_manifest_is_parsed(text in "\\PC*", which in 0..NAMES.len()) {
            parse(&text, NAMES[which]);
        }
    }
}
