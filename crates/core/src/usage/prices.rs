//! List prices of models, and the cost of a request.

use super::{
    money::{Picodollars, divide},
    tokens::Tokens,
};
use jiff::{civil::Date, tz::TimeZone};
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Why a table of prices cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the prices cannot be read: {0}")]
pub struct PriceError(#[from] serde_json::Error);

/// Prices of models, with their source and date.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceTable {
    pub source: String,
    /// The day of the prices, such as `2026-11-01`.
    pub as_of: String,
    pub models: Vec<ModelPrice>,
    /// Prices of the user, which replace those.
    #[serde(default)]
    pub own: Vec<ModelPrice>,
}

/// The price of one model of one provider from a day on. Texts are US dollars for a million tokens, and for a thousand
/// searches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelPrice {
    /// Such as `anthropic`.
    pub provider: String,
    /// The id of a model; the start of one if it ends in `*`.
    #[serde(rename = "match")]
    pub model: String,
    /// The first day in UTC on which this price applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(flatten)]
    pub rates: Rates,
    /// A prompt of more tokens costs `over` for all tokens of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Rates>,
    /// Prices of the fast mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast: Option<Rates>,
    /// The factor for requests that are answered in the United States only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub us: Option<String>,
}

/// Prices by kind of token; `None` if unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Rates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<String>,
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
}

/// The facts on which the price of a request depends.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestToPrice {
    /// Milliseconds since the epoch.
    pub at: i64,
    pub tokens: Tokens,
    /// Number of web searches.
    pub searches: u64,
    pub fast: bool,
    pub us: bool,
    /// The counts are sums of several requests.
    pub is_sum: bool,
}

impl PriceTable {
    /// Parses a table.
    pub fn parse(json: &str) -> Result<Self, PriceError> {
        Ok(serde_json::from_str(json)?)
    }

    /// Returns the prices that come with the program, with their source and day.
    pub fn built_in() -> &'static Self {
        static TABLE: LazyLock<PriceTable> =
            LazyLock::new(|| PriceTable::parse(include_str!("prices.json")).unwrap_or_default());
        &TABLE
    }

    /// Returns the prices of a model: the user's, from their first day on, and list prices. Of both, those of its id count
    /// before those of its longest known beginning.
    pub fn of_model(&self, provider: &str, model: &str) -> ModelPrices {
        let mut own = best(&self.own, provider, model);
        let mut listed = best(&self.models, provider, model);
        if let Some(first) = own.first() {
            listed.retain(|price| price.from < first.from);
        }
        listed.append(&mut own);
        ModelPrices(listed)
    }
}

/// Returns the rows that fit a model best, oldest first.
fn best(rows: &[ModelPrice], provider: &str, model: &str) -> Vec<DatedPrice> {
    let fit = |row: &ModelPrice| {
        let length = match row.model.strip_suffix('*') {
            Some(start) => model.starts_with(start).then_some((false, start.len())),
            None => (model == row.model).then_some((true, 0)),
        };
        length.filter(|_| row.provider == provider)
    };
    let best = rows.iter().filter_map(fit).max();
    let rows = rows.iter().filter(|row| best.is_some() && fit(row) == best);
    let mut dated: Vec<_> = rows.filter_map(DatedPrice::new).collect();
    dated.sort_by_key(|price| price.from);
    dated
}

/// The prices of one model over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelPrices(Vec<DatedPrice>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct DatedPrice {
    /// Milliseconds since the epoch.
    from: i64,
    rates: Parsed,
    above: Option<(u64, Parsed)>,
    fast: Option<Parsed>,
    us: Option<Picodollars>,
}

/// Prices in the order of [`Rates`].
type Parsed = [Option<Picodollars>; 6];

impl Rates {
    fn parsed(&self) -> Parsed {
        [&self.input, &self.cache_read, &self.cache_write, &self.cache_write_1h, &self.output, &self.search]
            .map(|rate| rate.as_deref().and_then(Picodollars::parse))
    }
}

fn replaced(rates: Parsed, by: &Parsed) -> Parsed {
    std::array::from_fn(|at| by[at].or(rates[at]))
}

impl DatedPrice {
    /// `None` if the day cannot be parsed.
    fn new(row: &ModelPrice) -> Option<Self> {
        let from = match &row.from {
            Some(day) => day.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond(),
            None => i64::MIN,
        };
        Some(Self {
            from,
            rates: row.rates.parsed(),
            above: row.above.filter(|above| *above > 0).zip(row.over.as_ref().map(Rates::parsed)),
            fast: row.fast.as_ref().map(Rates::parsed),
            us: row.us.as_deref().and_then(Picodollars::parse),
        })
    }
}

impl ModelPrices {
    /// Returns the cost of a request; `None` if the price of something that it used is unknown.
    pub fn cost(&self, request: &RequestToPrice) -> Option<Picodollars> {
        let price = self.0.iter().rev().find(|price| price.from <= request.at)?;
        let mut rates = price.rates;
        if request.fast {
            rates = replaced(rates, price.fast.as_ref()?);
        }
        let tokens = request.tokens;
        if let Some((above, over)) = &price.above
            && tokens.prompt() > *above
            && !request.is_sum
        {
            rates = replaced(rates, over);
        }
        // A thousand times a thousand searches is a million.
        let searches = request.searches.saturating_mul(1000);
        let used = [
            tokens.input,
            tokens.cache_read,
            tokens.cache_write,
            tokens.cache_write_1h,
            tokens.output,
            searches,
        ];
        let mut sum = 0_i128;
        for (count, rate) in used.into_iter().zip(rates).filter(|(count, _)| *count > 0) {
            sum = sum.checked_add(i128::from(count).checked_mul(rate?.0.into())?)?;
        }
        let sum = match price.us.filter(|_| request.us) {
            Some(factor) => divide(sum.checked_mul(factor.0.into())?, 10_i128.pow(12)),
            None => sum,
        };
        i64::try_from(divide(sum, 1_000_000)).ok().map(Picodollars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> PriceTable {
        PriceTable::parse(
            r#"{"source": "a test", "asOf": "2026-11-01", "models": [
                {"provider": "a", "match": "m-1*", "input": "3", "output": "15", "cacheRead": "0.3", "above": 1000,
                 "over": {"input": "6"}, "fast": {"output": "30"}, "us": "1.1", "search": "10"},
                {"provider": "a", "match": "m-1*", "from": "2026-06-01", "input": "2"},
                {"provider": "a", "match": "m-1-mini", "input": "0.025"},
                {"provider": "b", "match": "m-1", "input": "7"}]}"#,
        )
        .unwrap()
    }

    const MAY: i64 = 1_777_600_000_000;
    const JULY: i64 = 1_783_000_000_000;

    #[test]
    fn cost_follows_model_day_and_prompt() {
        let tokens = |input, output| Tokens { input, output, ..Tokens::default() };
        let request = |tokens| RequestToPrice { at: MAY, tokens, ..RequestToPrice::default() };
        let small = request(tokens(1000, 10));
        let one = request(tokens(1, 0));
        let rows = [
            ("list price", "m-1-x", small, Some("0.00315")),
            ("above", "m-1-x", request(tokens(1001, 0)), Some("0.006006")),
            ("a sum", "m-1-x", RequestToPrice { is_sum: true, ..request(tokens(1001, 0)) }, Some("0.003003")),
            ("fast", "m-1-x", RequestToPrice { fast: true, ..small }, Some("0.0033")),
            ("in the US", "m-1-x", RequestToPrice { us: true, ..small }, Some("0.003465")),
            ("searches", "m-1-x", RequestToPrice { searches: 3, ..request(tokens(0, 0)) }, Some("0.03")),
            ("a later day", "m-1-x", RequestToPrice { at: JULY, ..request(tokens(1000, 0)) }, Some("0.002")),
            ("no price of output", "m-1-x", RequestToPrice { at: JULY, ..small }, None),
            ("no fast mode", "m-1-x", RequestToPrice { at: JULY, fast: true, ..one }, None),
            ("the longest match", "m-1-mini", one, Some("0.000000025")),
            ("no model", "m-2", small, None),
        ];
        let table = table();
        for (what, model, request, expected) in rows {
            let cost = table.of_model("a", model).cost(&request).map(|cost| cost.to_string());
            assert_eq!(cost.as_deref(), expected, "{what}");
        }
        assert_eq!(table.of_model("", "m-1").cost(&small), None, "no provider");
        assert_eq!(table.of_model("b", "m-1-x").cost(&small), None, "only its id");
    }

    #[test]
    fn own_prices_replace_list_prices_from_their_day_on() {
        let own = |model: &str, from: Option<&str>| ModelPrice {
            provider: "a".to_owned(),
            model: model.to_owned(),
            from: from.map(str::to_owned),
            rates: Rates { input: Some("100".to_owned()), ..Rates::default() },
            ..ModelPrice::default()
        };
        let rows = [
            ("m-1-x", None, [Some("0.1"), Some("0.1")]),
            ("m-1*", None, [Some("0.1"), Some("0.1")]),
            ("m-1-x", Some("2026-06-15"), [Some("0.003"), Some("0.1")]),
            ("m-1", None, [Some("0.003"), Some("0.002")]),
        ];
        for (model, from, expected) in rows {
            let table = PriceTable { own: vec![own(model, from)], ..table() };
            let prices = table.of_model("a", "m-1-x");
            let cost = |at| {
                let tokens = Tokens { input: 1000, ..Tokens::default() };
                prices.cost(&RequestToPrice { at, tokens, ..RequestToPrice::default() })
            };
            let costs = [MAY, JULY].map(|at| cost(at).map(|cost| cost.to_string()));
            assert_eq!(costs.each_ref().map(Option::as_deref), expected, "{model} from {from:?}");
        }
    }

    #[test]
    fn built_in_prices_are_complete() {
        let table = PriceTable::built_in();
        assert!(table.models.len() > 500 && table.as_of.parse::<Date>().is_ok(), "{}", table.models.len());
        for row in &table.models {
            let price = DatedPrice::new(row).unwrap();
            // Input and output.
            assert!(price.rates[0].is_some() && price.rates[4].is_some(), "{row:?}");
            let others = [price.above.map(|above| above.1), price.fast];
            for rates in others.iter().flatten() {
                assert!(rates.iter().any(Option::is_some), "{row:?}");
            }
        }
    }
}
