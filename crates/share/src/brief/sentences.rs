//! Sentences that state a constraint or a decision, by words of the six languages that questions are understood in.

use openagents_core::terms::{fold_case, is_unspaced};

/// Words by which the user limits what may be done.
const CONSTRAINTS: [&[&str]; 6] = [
    &[
        "must",
        "mustn't",
        "must not",
        "never",
        "always",
        "don't",
        "do not",
        "only",
        "keep",
        "instead of",
        "make sure",
        "without",
        "avoid",
        "shouldn't",
        "should not",
        "leave",
        "instead",
        "off limits",
        "off-limits",
        "hands off",
        "stay away from",
        "no new",
        "no more",
        "said no",
    ],
    &[
        "muss",
        "müssen",
        "darf",
        "dürfen",
        "nie",
        "niemals",
        "immer",
        "nur",
        "behalte",
        "statt",
        "anstatt",
        "ohne",
        "bitte nicht",
        "auf keinen fall",
        "vermeide",
        "keine",
        "kein",
        "finger weg",
        "nicht mit",
        "nicht anfassen",
        "nicht ändern",
        "fass",
    ],
    &[
        "debe",
        "deben",
        "nunca",
        "siempre",
        "solo",
        "sólo",
        "únicamente",
        "mantén",
        "mantener",
        "en lugar de",
        "en vez de",
        "sin",
        "no uses",
        "no cambies",
        "no toques",
        "no modifiques",
        "no edites",
        "no borres",
        "deja",
        "prohibido",
        "nada de",
        "evita",
    ],
    &[
        "doit",
        "doivent",
        "jamais",
        "toujours",
        "seulement",
        "uniquement",
        "garde",
        "garder",
        "au lieu de",
        "sans",
        "ne pas",
        "évite",
        "éviter",
        "interdiction",
        "interdit",
        "pas de",
        "surtout pas",
        "ne touche",
        "ne modifie",
        "ne change",
        "laisse",
    ],
    &[
        "必ず",
        "絶対",
        "決して",
        "常に",
        "だけ",
        "のみ",
        "ないで",
        "禁止",
        "代わりに",
        "ではなく",
        "そのまま",
        "維持",
        "ずに",
    ],
    &[
        "必须",
        "必須",
        "不要",
        "永远不",
        "从不",
        "总是",
        "始终",
        "只能",
        "仅",
        "保持",
        "而不是",
        "禁止",
        "避免",
        "千万别",
        "别动",
        "别改",
        "别用",
        "别碰",
        "请勿",
    ],
];

/// Phrases with one of these words that limit nothing.
const ENCOURAGEMENTS: [&str; 3] = ["keep going", "keep on", "keep it up"];

/// Words by which an agent reports a decision or a cause.
const DECISIONS: [&[&str]; 6] = [
    &[
        "decided",
        "because",
        "root cause",
        "turns out",
        "turned out",
        "the reason",
        "the problem is",
        "caused by",
        "since the",
    ],
    &["entschieden", "weil", "ursache", "stellt sich heraus", "stellte sich heraus", "der grund"],
    &["decidido", "decidí", "porque", "la causa", "resulta que"],
    &["décidé", "parce que", "la cause", "il s'avère", "vient de", "vient du", "provient"],
    &["決め", "なぜなら", "原因", "理由", "ため"],
    &["决定", "因为", "原因", "原来", "理由", "问题出在", "问题是"],
];

/// Longer sentences, in characters, are lists or logs.
const SENTENCE: usize = 400;

/// Returns the sentences of a prompt that limit what may be done.
pub(super) fn constraints(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).filter(|sentence| has_any(sentence, &CONSTRAINTS))
}

/// Returns the sentences of an answer that report a decision or a cause.
pub(super) fn decisions(text: &str) -> impl Iterator<Item = &str> {
    sentences(text).filter(|sentence| has_any(sentence, &DECISIONS))
}

/// Returns the sentences outside of code blocks, without the marks of lists and headings.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    let prose = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    prose.flat_map(split).filter(|sentence| {
        let length = sentence.chars().count();
        (4..=SENTENCE).contains(&length)
    })
}

fn split(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim().trim_start_matches(['-', '*', '#', '>', '•', ' ']);
    let ends = line.char_indices().filter_map(move |(at, sign)| {
        let end = at + sign.len_utf8();
        let is_end = match sign {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => line[end..].starts_with(' '),
            _ => false,
        };
        is_end.then_some(end)
    });
    let mut start = 0;
    let mut parts: Vec<&str> = Vec::new();
    for end in ends.chain(std::iter::once(line.len())) {
        parts.push(line[start..end].trim());
        start = end;
    }
    parts.into_iter().filter(|part| !part.is_empty())
}

fn has_any(sentence: &str, lists: &[&[&str]]) -> bool {
    let mut folded = fold_case(sentence).replace('’', "'");
    for phrase in ENCOURAGEMENTS {
        folded = folded.replace(phrase, "");
    }
    lists.iter().copied().flatten().any(|word| {
        folded.match_indices(word).any(|(at, _)| {
            let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            word.chars().any(is_unspaced)
                || !is_letter(folded[..at].chars().next_back())
                    && !is_letter(folded[at + word.len()..].chars().next())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_are_found_in_six_languages() {
        let rows = [
            ("Fix it. Don’t touch the API! Thanks.", vec!["Don’t touch the API!"]),
            ("- Only change cart.py\n- and run the tests", vec!["Only change cart.py"]),
            ("Mach es fertig. Die API darf sich nicht ändern.", vec!["Die API darf sich nicht ändern."]),
            ("Corrige esto. Nunca borres los datos.", vec!["Nunca borres los datos."]),
            ("Corrige ça, au lieu de tout réécrire.", vec!["Corrige ça, au lieu de tout réécrire."]),
            ("直して。テストは必ず実行。", vec!["テストは必ず実行。"]),
            ("修复它。不要修改接口。", vec!["不要修改接口。"]),
            ("```\nnever = 1\n```\nnothing", vec![]),
            ("The keeper and the lonely monkey", vec![]),
            ("Fine, keep going. Hands off api.rs.", vec!["Hands off api.rs."]),
            ("Finger weg von api.rs.", vec!["Finger weg von api.rs."]),
            ("Interdiction de modifier api.rs.", vec!["Interdiction de modifier api.rs."]),
            ("No modifiques api.rs.", vec!["No modifiques api.rs."]),
            ("api.rs には触らないで。", vec!["api.rs には触らないで。"]),
            ("千万别动 api.rs。", vec!["千万别动 api.rs。"]),
        ];
        for (text, expected) in rows {
            assert_eq!(constraints(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn decisions_are_found() {
        let text = "I looked around. It turns out that v1.2 rounds twice. I decided to use cents, because they add up.";
        assert_eq!(
            decisions(text).collect::<Vec<_>>(),
            ["It turns out that v1.2 rounds twice.", "I decided to use cents, because they add up."]
        );
    }
}
