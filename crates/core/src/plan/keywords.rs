//! Finds the word in a sentence that is worth searching for.

/// Words that say nothing about a code base: English glue, and the vocabulary of asking.
const COMMON: &str = " a about above add after again all also an and any are around as ask at be been before below \
    between both but by can change changed changes check code codebase continue could current did do does doing \
    done each ever every explain explore few file files find fix folder for from get give goal goals had has have \
    help her here how i identify if implement in into is it its just last latest learn list look made make many me \
    might more most much my need new next no not now of off often on once one only open or other our out over own \
    person please plan project read recent recently repo repository review run same search see session sessions \
    should show since so some still structure such summarise summarize sure task tell than that the their them then \
    there these they thing things this those through to today too touched tree trying under understand until up \
    update us use used user using very want wants was way we well went were what when where which while who whole \
    why will with within work worked working workspace would write yesterday you your ";

/// Returns the most telling word: something quoted, else an identifier, else the longest uncommon word.
pub(crate) fn keyword<'a>(sentences: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut best: Option<(u32, usize, &str)> = None;
    for sentence in sentences {
        let quoted = quoted(sentence).into_iter().map(|word| (3, word));
        let plain = sentence.split(|c: char| !(c.is_alphanumeric() || "_-.:/".contains(c)));
        let plain = plain.map(|word| word.trim_matches(|c: char| "_-.:/".contains(c)));
        let weighed = plain.filter_map(|word| weight(word).map(|weight| (weight, word)));
        for (weight, word) in quoted.chain(weighed) {
            let length = word.chars().count().min(24);
            if best.is_none_or(|(other, longest, _)| (weight, length) > (other, longest)) {
                best = Some((weight, length, word));
            }
        }
    }
    best.map(|(_, _, word)| last_part(word).to_owned())
}

fn weight(word: &str) -> Option<u32> {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let lower = word.to_lowercase();
    if letters < 3 || COMMON.contains(&format!(" {lower} ")) {
        return None;
    }
    let is_identifier = word.contains(['_', ':', '.', '/'])
        || word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    Some(if is_identifier { 2 } else { 1 })
}

/// What stands between quotation marks or back-ticks.
fn quoted(sentence: &str) -> Vec<&str> {
    let marks = [('`', '`'), ('"', '"'), ('“', '”'), ('«', '»')];
    let mut found = Vec::new();
    for (open, close) in marks {
        let mut rest = sentence;
        while let Some((_, after)) = rest.split_once(open) {
            let Some((inside, behind)) = after.split_once(close) else { break };
            // A quoted sentence stands nowhere word for word; its words are weighed like all others.
            if inside.chars().count() > 2 && inside.split_whitespace().count() <= 3 {
                found.push(inside.trim());
            }
            rest = behind;
        }
    }
    found
}

/// A path is searched by its last part, which is what stands in code and in sessions alike.
fn last_part(word: &str) -> &str {
    word.rsplit(['/', ':']).find(|part| !part.is_empty()).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picks_what_is_worth_a_search() {
        let rows = [
            ("Finish QR pairing so that a phone can approve commands", Some("commands")),
            ("Fix the flaky `reconnect` test", Some("reconnect")),
            ("Why does parse_header fail on empty input?", Some("parse_header")),
            ("Move src/bridge/http.rs to its own file", Some("http.rs")),
            ("Review the latest sessions that touched this project", None),
            ("Work out which files those sessions changed most often", None),
            ("Where does “Fix the reconnect test of the bridge” stand?", Some("reconnect")),
            ("", None),
            ("日本語のテスト", Some("日本語のテスト")),
        ];
        for (sentence, expected) in rows {
            assert_eq!(keyword([sentence]).as_deref(), expected, "{sentence}");
        }
    }
}
