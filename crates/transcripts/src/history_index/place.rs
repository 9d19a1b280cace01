//! The number of a passage in the index, made of its session, its line and its kind.

use super::kind::Kind;

/// Bits of the line: logs of more than four million lines are indexed up to there.
const LINE: u32 = 22;
/// Bits of the kind.
const KIND: u32 = 2;

/// Returns the number of a passage; `None` for a line beyond what can be indexed. Newer sessions have larger keys, so
/// that the newest matches are found first.
pub(super) fn of(session: i64, line: u64, kind: Kind) -> Option<i64> {
    let line = i64::try_from(line).ok().filter(|line| *line < 1 << LINE)?;
    Some(first(session) | line << KIND | i64::from(kind as u8))
}

/// Returns the session, the line and the kind of a passage.
pub(super) fn parts(place: i64) -> (i64, u64, Kind) {
    let line = (place >> KIND) & ((1 << LINE) - 1);
    (place >> (LINE + KIND), line.unsigned_abs(), Kind::stored((place & ((1 << KIND) - 1)) as u8))
}

/// The first number that a passage of a session may have; those of the next session follow its last.
pub(super) fn first(session: i64) -> i64 {
    session << (LINE + KIND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_is_its_number() {
        for (session, line, kind) in
            [(1, 0, Kind::Title), (1, 1, Kind::Prompt), (70_000, (1 << LINE) - 1, Kind::Call)]
        {
            let place = of(session, line, kind).unwrap();
            assert_eq!(parts(place), (session, line, kind));
            assert!((first(session)..first(session + 1)).contains(&place));
        }
        assert_eq!(of(1, 1 << LINE, Kind::Answer), None);
    }
}
