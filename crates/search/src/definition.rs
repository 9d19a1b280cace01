//! Lines that begin a definition. One set of patterns covers all languages that define names with a keyword; two more rules
//! cover C functions and methods.

use openagents_core::text::is_listed;
use regex::Regex;
use std::sync::LazyLock;

const CODE_EXTENSIONS: &str = "\
    rs|py|pyi|js|mjs|cjs|jsx|ts|tsx|mts|cts|go|c|h|cc|cpp|cxx|hpp|hh|m|mm|swift|php|java|kt|kts|rb|y|l|\
    cs|scala|vue|svelte|lua|ex|exs|erl|hs|ml|mli|clj|dart|zig|sh|bash|zsh|fish|pl|pm|r|jl|sql|proto|\
    graphql|jq|nim|cr|fs|fsx|groovy|gradle|cu|asm|s|vim|el";

pub(crate) fn is_code_extension(extension: &str) -> bool {
    is_listed(extension, CODE_EXTENSIONS)
}

/// Returns whether a file has definitions, by its name.
pub(crate) fn is_code(path: &str) -> bool {
    is_code_extension(extension(path))
}

/// Returns the text after the last dot of a file's name.
pub(crate) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Longest scanned line in bytes; longer ones are generated or data.
const LINE: usize = 300;

/// Modifiers, a keyword, a name; `impl X for Y`; `const f = (…)`; `exports.f =`; `X.prototype.f =`; `const LIMIT`.
static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let modifiers = r"(?:(?:pub(?:\([^)]*\))?|export|default|async|static|const|unsafe|extern(?: \S+)?|public|private|protected|internal|abstract|final|override|open|declare|inline|virtual|sealed|get|set|readonly) )*";
    let keywords = r"(?:fn|struct|enum|trait|union|mod|macro_rules!|def|class|interface|func|function\*?|type|namespace|module|object|protocol|extension|record|data class)";
    let pattern = format!(
        r"^{modifiers}(?:{keywords}\s+(?:\([^)]*\)\s*)?([\w$#]+)|impl(?:<[^{{]*?>)?\s+(?:[\w:<>, &'\[\]]+ for )?([\w:]+)|(?:const|let|var)\s+([\w$]+)\s*=\s*(?:async\s*)?(?:function|\(|[\w$]+\s*=>|class)|(?:module\.)?exports(?:\.([\w$]+))?\s*=|[\w$.]+\.prototype\.([\w$]+)\s*=|(?:const|static)\s+([A-Z_]+)\b)"
    );
    Regex::new(&pattern).ok()
});

/// Statements that look like a function's signature.
const STATEMENTS: &str = "if|for|while|switch|catch|return|function|define|defined";

/// Languages with functions in the first column as `type name(…)`.
const C_LIKE: &str = "c|h|cc|cpp|cxx|hpp|m|mm|y";

/// Languages with methods written as `name(…) {` without a keyword.
const BARE_METHODS: &str = "js|mjs|cjs|jsx|ts|tsx|mts|java|cs|kt|php|scala|dart|vue|svelte";

/// Returns whether an extension is of the C family, where a declaration may start a line above its name.
pub(crate) fn is_c_like(extension: &str) -> bool {
    is_listed(extension, C_LIKE)
}

pub(crate) fn name<'a>(line: &'a str, extension: &str) -> Option<&'a str> {
    let text = line.trim_start();
    if text.len() > LINE || text.starts_with(['*', '#']) || text.starts_with("//") {
        return None;
    }
    if let Some(found) = DEFINITION.as_ref().and_then(|definition| definition.captures(text)) {
        return found.iter().skip(1).flatten().next().map(|name| name.as_str());
    }
    let is_indented = text.len() < line.len();
    let text = text.trim_end();
    if is_c_like(extension) && !is_indented && !text.ends_with(';') && !text.contains('=') {
        return called(text).map(|(_, name)| name);
    }
    if is_listed(extension, BARE_METHODS) && is_indented && text.ends_with('{') {
        let (head, name) = called(text)?;
        return (!head.contains(['=', '.', ':', '?', '{'])).then_some(name);
    }
    None
}

/// Returns the text before the first parenthesis, and the last name in it.
fn called(text: &str) -> Option<(&str, &str)> {
    let (head, _) = text.split_once('(')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '#');
    let name = head.rsplit(|c| !is_name(c)).next().filter(|name| !name.is_empty())?;
    (!is_listed(name, STATEMENTS)).then_some((head, name))
}
