//! Amounts of money without rounding errors.

use serde::{Serialize, Serializer};
use std::{
    fmt,
    ops::{Add, AddAssign},
};

/// An amount in US dollars, in units of 10⁻¹² dollars. As JSON a decimal text, such as `"0.0004"`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Picodollars(pub i64);

/// Number of decimals.
const DECIMALS: i32 = 12;

impl Picodollars {
    /// Parses a decimal number of dollars, such as `0.0123` or `1.5e-4`; what is below the unit is rounded. `None` if it
    /// is not a number or too large.
    pub fn parse(text: &str) -> Option<Self> {
        Self::shifted(text, 0)
    }

    /// Like [`Picodollars::parse`], for a number in units of 10^`exponent` dollars.
    pub fn shifted(text: &str, exponent: i32) -> Option<Self> {
        let (negative, text) = match text.trim().strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.trim()),
        };
        let (mantissa, power) = match text.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_number = !(whole.is_empty() && fraction.is_empty())
            && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        if !is_number || whole.len() + fraction.len() > 36 {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let shift = DECIMALS.checked_add(exponent)?.checked_add(power)?.checked_sub(fraction.len() as i32)?;
        let amount = match u32::try_from(shift) {
            Ok(shift) if digits == 0 || shift <= 36 => digits.checked_mul(10_i128.checked_pow(shift)?)?,
            Ok(_) => return None,
            Err(_) if shift < -36 => 0,
            Err(_) => divide(digits, 10_i128.pow(shift.unsigned_abs())),
        };
        i64::try_from(if negative { -amount } else { amount }).ok().map(Self)
    }
}

/// Divides, and rounds to the nearest whole number.
pub(super) fn divide(amount: i128, by: i128) -> i128 {
    (amount + by / 2).div_euclid(by)
}

impl fmt::Display for Picodollars {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = 10_u64.pow(DECIMALS as u32);
        let (whole, rest) = (self.0.unsigned_abs() / unit, self.0.unsigned_abs() % unit);
        let sign = if self.0 < 0 { "-" } else { "" };
        match format!("{rest:012}").trim_end_matches('0') {
            "" => write!(formatter, "{sign}{whole}"),
            decimals => write!(formatter, "{sign}{whole}.{decimals}"),
        }
    }
}

impl Serialize for Picodollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Add for Picodollars {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Picodollars {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_and_shown_exactly() {
        let rows = [
            ("0", Some("0")),
            ("4", Some("4")),
            ("0.0004", Some("0.0004")),
            ("12.340", Some("12.34")),
            ("1e-05", Some("0.00001")),
            ("1.5E+2", Some("150")),
            (".5", Some("0.5")),
            ("-0.25", Some("-0.25")),
            ("0.0000000000014", Some("0.000000000001")),
            ("0.0000000000016", Some("0.000000000002")),
            ("1e-400", Some("0")),
            ("0e999999", None),
            ("9223372", Some("9223372")),
            ("9223373", None),
            ("1e99", None),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("0x10", None),
            ("٣", None),
            ("NaN", None),
        ];
        for (text, expected) in rows {
            let shown = Picodollars::parse(text).map(|amount| amount.to_string());
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
        assert_eq!(Picodollars::shifted("250", -2), Picodollars::parse("2.5"));
    }

    proptest::proptest! {
        #[test]
        fn amounts_come_back(amount: i64) {
            let shown = Picodollars(amount).to_string();
            proptest::prop_assert_eq!(Picodollars::parse(&shown), Some(Picodollars(amount)));
        }

        #[test]
        fn any_text_is_an_amount_or_none(text in ".{0,50}") {
            let _ = Picodollars::parse(&text);
        }
    }
}
