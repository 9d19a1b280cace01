//! Plants a secret for every rule, made from its pattern, in the kinds of text that sessions have.

use super::{find::find, hide::SecretSearch, rules::RULES};
use proptest::{
    strategy::{Strategy, ValueTree},
    string::string_regex_parsed,
    test_runner::TestRunner,
};
use regex_syntax::hir::{Capture, Hir, HirKind, Repetition};

/// Returns a secret with the pattern of a rule, and the text around it; `None` if its pattern cannot be turned into text.
fn example(rule: &str, pattern: &str, runner: &mut TestRunner) -> Option<(String, String)> {
    let made = string_regex_parsed(&without_places(regex_syntax::parse(pattern).ok()?)).ok()?;
    (0..400).find_map(|_| {
        let text = format!("\n{}\n", made.new_tree(runner).ok()?.current());
        let found = find(&text);
        // Some patterns are a special case of another one.
        let found = found.iter().find(|secret| secret.rule == rule).or(found.first())?.clone();
        Some((text[found.secret].to_owned(), text))
    })
}

/// Removes what matches a place, such as the end of a word.
fn without_places(pattern: Hir) -> Hir {
    let each = |parts: Vec<Hir>| parts.into_iter().map(without_places).collect();
    match pattern.into_kind() {
        HirKind::Empty | HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(class) => Hir::class(class),
        HirKind::Repetition(part) => {
            Hir::repetition(Repetition { sub: Box::new(without_places(*part.sub)), ..part })
        }
        HirKind::Capture(part) => Hir::capture(Capture { sub: Box::new(without_places(*part.sub)), ..part }),
        HirKind::Concat(parts) => Hir::concat(each(parts)),
        HirKind::Alternation(parts) => Hir::alternation(each(parts)),
    }
}

#[test]
fn secret_of_every_rule_is_hidden() {
    let mut runner = TestRunner::deterministic();
    let (mut planted, mut missed) = (0, Vec::new());
    for rule in RULES.all() {
        let Some((secret, text)) = example(&rule.id, rule.pattern(), &mut runner) else {
            missed.push(&rule.id);
            continue;
        };
        planted += 1;
        let mut search = SecretSearch::default();
        search.look(&text, 1);
        let hidden = search.hide_except(&[]);
        let json = serde_json::json!({"output": text}).to_string();
        for place in [text.clone(), format!("```diff\n+{text}\n```"), json] {
            let shown = hidden.hide(&place);
            assert!(!shown.contains(&secret), "{}: {secret} in {shown}", rule.id);
        }
    }
    // Some patterns have an unescaped dot, which becomes a random character: `hooks.slack.com` is then not in the text.
    assert!(planted >= 231, "{planted} planted, not these: {missed:?}");
}
