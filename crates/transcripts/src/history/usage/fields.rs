//! A JSON object whose members are parsed only when they are read, so that the text of a conversation is skipped.

use crate::history::log::log_file::utc_millis;
use openagents_core::usage::Picodollars;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// The members of an object. A member of the wrong type counts as absent, and a wrong number as 0.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, map.next_value()?));
                }
                Ok(Fields(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

impl<'a> Fields<'a> {
    /// Parses an object; `None` for anything else, and for what is not JSON.
    pub(super) fn parse(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    pub(super) fn of_line(line: &'a [u8]) -> Option<Self> {
        std::str::from_utf8(line).ok().and_then(Self::parse)
    }

    /// Returns a member as JSON; if there are several, the last one.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        let member = self.0.iter().rev().find(|(key, _)| key == name)?;
        Some(member.1.get()).filter(|json| *json != "null")
    }

    pub(super) fn object(&self, name: &str) -> Option<Fields<'a>> {
        self.get(name).and_then(Self::parse)
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (&str, Fields<'a>)> {
        self.0.iter().filter_map(|(key, json)| Some((key.as_ref(), Self::parse(json.get())?)))
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(|json| serde_json::from_str(json).ok())
    }

    /// Returns a text that is not empty.
    pub(super) fn name(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// Returns the objects of a list; none for anything else.
    pub(super) fn objects(&self, name: &str) -> Vec<Fields<'a>> {
        let items = self.get(name).and_then(|json| serde_json::from_str::<Vec<&RawValue>>(json).ok());
        items.into_iter().flatten().filter_map(|item| Self::parse(item.get())).collect()
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    /// Returns a number that is not negative, without its fraction.
    pub(super) fn count(&self, name: &str) -> u64 {
        let number = self.get(name).unwrap_or_default();
        number.parse().unwrap_or_else(|_| match number.parse::<f64>() {
            Ok(number) if number > 0.0 => number as u64,
            _ => 0,
        })
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.get(name).and_then(|json| serde_json::from_str(json).ok())
    }

    /// Returns an amount of 10^`exponent` dollars; `None` if it is not positive, because agents write 0 for models
    /// whose price they do not know.
    pub(super) fn cost(&self, name: &str, exponent: i32) -> Option<Picodollars> {
        self.get(name).and_then(|json| Picodollars::shifted(json, exponent)).filter(|cost| cost.0 > 0)
    }

    pub(super) fn time(&self, name: &str) -> Option<i64> {
        self.get(name).and_then(time)
    }
}

/// Parses the JSON of a time as milliseconds since the epoch: RFC 3339, a text without a zone in UTC, seconds or
/// milliseconds.
fn time(json: &str) -> Option<i64> {
    if let Ok(text) = serde_json::from_str::<Cow<'_, str>>(json) {
        return utc_millis(&text);
    }
    // Seconds up to the year 2286, milliseconds from April 1970 on.
    match serde_json::from_str::<f64>(json).ok()? {
        number if number.abs() < 1e10 => Some((number * 1000.0) as i64),
        number => Some(number as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_wrong_types_are_absent() {
        let line = r#"{"n":7,"f":7.9,"neg":-1,"t":"7","big":1e3,"yes":true,"o":{"n":1},"l":[1,{"n":2},"x"],"nil":null,"n2":1,"n2":2,"cost":0.0,"c":"1"}"#;
        let fields = Fields::parse(line).unwrap();
        let counts =
            ["n", "f", "neg", "t", "big", "yes", "o", "nil", "none", "n2"].map(|name| fields.count(name));
        assert_eq!(counts, [7, 7, 0, 0, 1000, 0, 0, 0, 0, 2]);
        assert_eq!(fields.objects("l").len(), 1);
        assert!(fields.object("n").is_none() && fields.text("n").is_none() && fields.get("nil").is_none());
        assert_eq!((fields.cost("cost", 0), fields.cost("c", 0)), (None, None));
        for other in ["[]", "1", "\"{}\"", "{", "{\"a\":}", ""] {
            assert!(Fields::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn times_are_milliseconds() {
        let expected = Some(1_772_355_600_000);
        for json in [
            "1772355600",
            "1772355600000",
            "1772355600.0",
            "\"2026-03-01T09:00:00Z\"",
            "\"2026-03-01T10:00:00.000+01:00\"",
            "\"2026-03-01 09:00:00\"",
        ] {
            assert_eq!(time(json), expected, "{json}");
        }
        for json in ["true", "\"soon\"", "[]"] {
            assert_eq!(time(json), None, "{json}");
        }
    }
}
