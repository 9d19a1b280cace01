//! A QR code in a terminal.

use anstyle::{AnsiColor, Color, Style};
use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};

/// Light on dark, in any colour scheme.
const INK: Style = Style::new()
    .fg_color(Some(Color::Ansi(AnsiColor::BrightWhite)))
    .bg_color(Some(Color::Ansi(AnsiColor::Black)));

/// Returns the lines of a QR code, two rows per line; `None` if the text is too long.
pub(super) fn lines(text: &str) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    // Light modules are drawn: without colours the code stays readable on a dark terminal.
    let drawn = code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    Some(drawn.lines().map(|line| format!("{INK}{line}{INK:#}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_fits_into_a_small_window() {
        let lines = lines("https://192.168.178.123:9443/#pair=K7QX-2M9P").unwrap();
        let width = anstream::adapter::strip_str(&lines[0]).to_string().chars().count();
        assert!(lines.len() <= 22 && width <= 40, "{} x {width}", lines.len());
        assert!(lines.iter().all(|line| line.starts_with("\u{1b}[") && line.ends_with("\u{1b}[0m")));
    }

    /// Reads the drawing back and compares every module.
    #[test]
    fn every_module_is_drawn() {
        let text = "https://192.0.2.2:9443/#pair=K7QX-2M9P";
        let drawn: Vec<Vec<char>> = lines(text)
            .unwrap()
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string().chars().collect())
            .collect();
        let code = QrCode::with_error_correction_level(text, EcLevel::L).unwrap();
        let (quiet, width) = (4, code.width());
        for y in 0..width {
            for x in 0..width {
                let sign = drawn[(y + quiet) / 2][x + quiet];
                let is_light = match (y + quiet) % 2 {
                    0 => matches!(sign, '█' | '▀'),
                    _ => matches!(sign, '█' | '▄'),
                };
                assert_eq!(is_light, code[(x, y)] == qrcode::Color::Light, "{x}, {y}");
            }
        }
    }

    #[test]
    fn what_is_too_long_is_no_code() {
        assert_eq!(lines(&"x".repeat(10_000)), None);
    }
}
