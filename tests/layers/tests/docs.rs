//! The documentation names what the code has: environment variables, files and tables of the data folder. Links
//! lead somewhere.

use anyhow::{Context, Result, ensure};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Links to files of the repository from pages of the book, which has only the folder `docs`.
const BLOB: &str = "https://github.com/OpenAgentsInc/openagents/blob/main/";

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn texts(folder: &str, extensions: &[&str]) -> Result<BTreeMap<PathBuf, String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![repository().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !["target", "node_modules", "tests", "gen"].contains(&&*name) {
                folders.push(path);
            } else if extensions.contains(&&*extension) {
                found.insert(path.clone(), fs::read_to_string(&path)?);
            }
        }
    }
    Ok(found)
}

/// Returns the texts of the product's Rust files, without their tests.
fn product() -> Result<BTreeMap<PathBuf, String>> {
    let mut files = texts("crates", &["rs"])?;
    files.extend(texts("src-tauri", &["rs"])?);
    files.retain(|path, _| !path.to_string_lossy().trim_end_matches(".rs").ends_with("tests"));
    for text in files.values_mut() {
        let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().len();
        text.truncate(product);
    }
    Ok(files)
}

fn page(path: &str) -> Result<String> {
    fs::read_to_string(repository().join(path)).with_context(|| path.to_owned())
}

/// Returns each maximal run of `is_part` characters that starts with `prefix`.
fn words(text: &str, prefix: &str, is_part: impl Fn(char) -> bool) -> BTreeSet<String> {
    let starts = text.match_indices(prefix).map(|(at, _)| &text[at..]);
    starts.map(|rest| rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())].to_owned()).collect()
}

/// Returns the names that no page has in backticks.
fn missing<'a>(names: impl IntoIterator<Item = &'a String>, page: &str) -> Vec<&'a String> {
    names.into_iter().filter(|name| !page.contains(&format!("`{name}`"))).collect()
}

#[test]
fn environment_variables_are_documented() -> Result<()> {
    let mut names = BTreeSet::new();
    for text in product()?.values() {
        let ours = words(text, "\"OPENAGENTS_", |c| c == '"' || c == '_' || c.is_ascii_uppercase());
        names.extend(ours.iter().map(|name| name.trim_matches('"').to_owned()));
        for call in ["env::var(\"", "env::var_os(\"", "environment.folder(\""] {
            for found in text.split(call).skip(1) {
                names.extend(found.split('"').next().map(str::to_owned));
            }
        }
    }
    ensure!(names.len() > 15, "{names:?}");
    let documented = page("docs/reference/environment.md")?;
    let missing = missing(&names, &documented);
    ensure!(missing.is_empty(), "docs/reference/environment.md lacks {missing:?}");
    Ok(())
}

/// Returns the names of files and folders: string constants of path names that are joined to the data folder.
fn data_files() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for (path, text) in product()? {
        let keeps_data = ["core", "sessions", "bridge", "transcripts", "remote"]
            .iter()
            .any(|part| path.to_string_lossy().contains(&format!("crates/{part}/src")));
        if !keeps_data && !path.to_string_lossy().contains("src-tauri") {
            continue;
        }
        for line in text.lines() {
            let Some((declared, value)) = line.split_once(": &str = \"") else { continue };
            let constant = declared.split(' ').next_back().unwrap_or_default();
            if (constant == "FILE" || constant.ends_with("_FILE")) && declared.contains("const ") {
                names.extend(value.split('"').next().map(str::to_owned));
            }
        }
    }
    Ok(names)
}

#[test]
fn files_of_the_data_folder_are_documented() -> Result<()> {
    let names = data_files()?;
    for known in ["openagents.sqlite", "bridge.json", "history.db", "token", "window.lock"] {
        ensure!(names.contains(known), "{known} is not among {names:?}");
    }
    let page = page("docs/reference/data-folder.md")?;
    let missing = missing(&names, &page);
    ensure!(missing.is_empty(), "docs/reference/data-folder.md lacks {missing:?}");
    Ok(())
}

/// Returns the names of tables and columns in `CREATE TABLE` and `ALTER TABLE` statements, except in tables that a later
/// migration drops.
fn schema(text: &str) -> BTreeSet<String> {
    let word = |text: &str| text.trim_start().split([' ', '(']).next().unwrap_or_default().to_owned();
    let mut names = BTreeSet::new();
    for statement in text.split("CREATE TABLE ").skip(1) {
        if text.contains(&format!("DROP TABLE {}", word(statement))) {
            continue;
        }
        names.insert(word(statement));
        let columns = statement.split_once('(').map_or("", |(_, rest)| rest);
        let columns = columns.split(") STRICT").next().unwrap_or_default();
        let names_column =
            |column: &&str| !["PRIMARY", "UNIQUE"].contains(&&*word(column)) && column.contains(' ');
        names.extend(columns.split(",\n").filter(names_column).map(word));
    }
    names.extend(text.split("ADD COLUMN ").skip(1).map(word));
    names
}

#[test]
fn tables_are_documented() -> Result<()> {
    let mut names = BTreeSet::new();
    for (path, text) in product()? {
        // Those of other programs, in the readers of their logs.
        if !path.to_string_lossy().contains("formats/") {
            names.extend(schema(&text));
        }
    }
    ensure!(
        names.contains("events") && names.contains("token_hash") && names.contains("mtime_ns"),
        "{names:?}"
    );
    let page = page("docs/reference/data-folder.md")?;
    let missing = missing(&names, &page);
    ensure!(missing.is_empty(), "docs/reference/data-folder.md lacks {missing:?}");
    Ok(())
}

/// Returns the anchors of a page's headings, as GitHub and mdbook form them.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |heading: &str| {
        let kept = heading.trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    };
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// Returns the problem with a link from a page of the repository, in its folder.
fn fault(link: &str, folder: &Path, own: &str) -> Option<String> {
    let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match target.strip_prefix(BLOB) {
        Some(path) => repository().join(path),
        None if target.contains("://") || target.starts_with("mailto:") => return None,
        None => folder.join(target),
    };
    let is_own = link.starts_with('#');
    if !is_own && !target.exists() {
        return Some("does not exist".to_owned());
    }
    let text = if is_own { own.to_owned() } else { fs::read_to_string(&target).unwrap_or_default() };
    (!anchor.is_empty() && !anchors(&text).contains(anchor)).then(|| format!("has no heading #{anchor}"))
}

/// Returns the targets of a page's links and pictures, outside of code.
fn links(text: &str) -> Vec<&str> {
    let prose = text.split("```").step_by(2);
    prose
        .flat_map(|text| {
            let markdown = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
            markdown.chain(text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next()))
        })
        .collect()
}

#[test]
fn links_have_a_target() -> Result<()> {
    let mut pages = texts("docs", &["md"])?;
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "THREATS.md", "CHANGELOG.md"] {
        pages.insert(repository().join(name), page(name)?);
    }
    let mut faults = Vec::new();
    for (path, text) in &pages {
        let folder = path.parent().context("a page has a folder")?;
        for link in links(text) {
            faults
                .extend(fault(link, folder, text).map(|fault| format!("{}: {link} {fault}", path.display())));
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\n"));
    Ok(())
}

/// Returns whether a path in the text of a page exists. Those of ARCHITECTURE.md and THREATS.md are relative to a crate's
/// sources, to `crates` or to `tests`.
fn is_there(path: &str) -> bool {
    let in_crate = path.split_once('/').map(|(part, rest)| format!("crates/{part}/src/{rest}"));
    let bases =
        [path.to_owned(), format!("crates/{path}"), format!("tests/{path}"), format!("tests/e2e/{path}")];
    in_crate.iter().chain(&bases).any(|path| repository().join(path).exists())
}

/// Returns the words in backticks that look like paths of the repository.
fn paths(text: &str) -> Vec<&str> {
    let is_path = |word: &&str| {
        let ends = ["rs", "ts", "tsv", "sh", "mjs", "js", "toml", "css"];
        let is_file = word.rsplit_once('.').is_some_and(|(_, end)| ends.contains(&end));
        let is_ours = ["crates/", "ui/", "docs/", "scripts/", "tests/", "src-tauri/"].iter();
        word.contains('/')
            && !word.contains(['*', ' ', '<', '{', ':'])
            && (is_file || is_ours.into_iter().any(|start| word.starts_with(start)))
    };
    text.split('`').skip(1).step_by(2).filter(is_path).collect()
}

#[test]
fn paths_of_the_code_exist() -> Result<()> {
    let mut pages = texts("docs", &["md"])?;
    for name in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "THREATS.md"] {
        pages.insert(repository().join(name), page(name)?);
    }
    let mut missing = Vec::new();
    for (page, text) in &pages {
        let prose = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
        let gone: Vec<_> =
            paths(&prose).into_iter().filter(|path| !is_there(path)).map(str::to_owned).collect();
        missing.extend(gone.into_iter().map(|path| format!("{}: {path} does not exist", page.display())));
    }
    ensure!(missing.is_empty(), "{}", missing.join("\n"));
    Ok(())
}

/// Returns the words in backticks that look like names of tests.
fn test_names(text: &str) -> BTreeSet<String> {
    let is_name = |word: &&str| {
        word.matches('_').count() > 2
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    text.split('`').skip(1).step_by(2).filter(is_name).map(str::to_owned).collect()
}

#[test]
fn named_tests_exist() -> Result<()> {
    let named = test_names(&(page("THREATS.md")? + &page("docs/contributing.md")?));
    ensure!(named.len() > 2, "{named:?}");
    let mut all = String::new();
    for folder in ["crates", "tests/e2e", "tests/real"] {
        all.extend(rust_files(&repository().join(folder))?);
    }
    let missing: Vec<_> = named.into_iter().filter(|name| !all.contains(&format!("fn {name}("))).collect();
    ensure!(missing.is_empty(), "no test has the name {missing:?}");
    Ok(())
}

/// Returns the texts of all Rust files below a folder, tests among them.
fn rust_files(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(&path)?);
        }
    }
    Ok(found)
}

#[test]
fn every_page_and_picture_is_linked() -> Result<()> {
    let docs = repository().join("docs");
    let pages = texts("docs", &["md"])?;
    let summary = page("docs/SUMMARY.md")?;
    for path in pages.keys() {
        let name = path.strip_prefix(&docs)?.to_string_lossy().into_owned();
        ensure!(
            name == "SUMMARY.md" || summary.contains(&format!("({name})")),
            "docs/SUMMARY.md lacks {name}"
        );
    }
    let all = pages.into_values().collect::<String>() + &page("README.md")?;
    for picture in fs::read_dir(docs.join("pictures"))? {
        let name = picture?.file_name().to_string_lossy().into_owned();
        ensure!(all.contains(&format!("pictures/{name}")), "no page shows docs/pictures/{name}");
    }
    Ok(())
}

#[test]
fn dead_link_and_missing_name_are_found() {
    let folder = repository().join("docs");
    for (link, is_dead) in [
        ("glossary.md", false),
        ("glossary.md#glossary", false),
        ("glossary.md#nothing", true),
        ("nothing.md", true),
        ("#own-heading", false),
        ("#other", true),
        ("https://example.com/nothing", false),
        ("https://github.com/OpenAgentsInc/openagents/blob/main/nothing.md", true),
    ] {
        assert_eq!(fault(link, &folder, "## Own `heading`\n").is_some(), is_dead, "{link}");
    }
    assert_eq!(
        links("[a](b.md) ```\n[c](d)\n``` ![e](f.png) <img src=\"g.png\">"),
        ["b.md", "f.png", "g.png"]
    );
    let names = ["A".to_owned(), "B_C".to_owned()];
    assert_eq!(missing(&names, "`A`, B_C"), [&names[1]]);
    let tables = "CREATE TABLE a (\n id TEXT PRIMARY KEY,\n b_c INTEGER,\n PRIMARY KEY (id, b_c)\n) STRICT;\nALTER TABLE a ADD COLUMN d TEXT;";
    assert_eq!(schema(tables).into_iter().collect::<Vec<_>>(), ["a", "b_c", "d", "id"]);
}
