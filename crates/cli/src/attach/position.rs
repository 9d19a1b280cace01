//! A client's position in a session: every update once and in order, across reconnects.

use serde_json::Value;

#[derive(Debug)]
pub(super) struct Position {
    last: u64,
    /// Updates of an unfinished snapshot; shown once it is complete.
    folded: Option<Vec<Value>>,
}

/// Action for a received update.
#[derive(Debug, PartialEq)]
pub(super) enum Taken {
    Show(Value),
    /// Already shown, or part of an unfinished snapshot.
    Nothing,
    /// Updates before it are missing: attach again.
    Gap,
}

impl Position {
    pub(super) fn after(last: u64) -> Self {
        Self { last, folded: None }
    }

    /// Number of the last update that was shown or covered by a shown snapshot.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Resets an unfinished snapshot: the new link sends it again.
    pub(super) fn attached(&mut self, by_snapshot: bool) {
        self.folded = by_snapshot.then(Vec::new);
    }

    /// Adds the params of a `session/update`.
    pub(super) fn take(&mut self, params: Value) -> Taken {
        let ours = &params["_meta"]["openagents"];
        let Some(seq) = ours["seq"].as_u64() else { return Taken::Show(params) };
        if ours["folded"] == true {
            if let Some(folded) = &mut self.folded {
                folded.push(params);
            }
            return Taken::Nothing;
        }
        match seq.checked_sub(self.last) {
            None | Some(0) => Taken::Nothing,
            Some(1) => {
                self.last = seq;
                Taken::Show(params)
            }
            Some(_) => Taken::Gap,
        }
    }

    /// Ends a snapshot that covers everything up to `seq`; returns its updates.
    pub(super) fn snapshot(&mut self, seq: u64) -> Vec<Value> {
        self.last = self.last.max(seq);
        self.folded.take().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn update(seq: u64) -> Value {
        json!({"_meta": {"openagents": {"seq": seq}}})
    }

    fn folded(seq: u64) -> Value {
        json!({"_meta": {"openagents": {"seq": seq, "folded": true}}})
    }

    #[test]
    fn every_update_is_taken_once_and_a_gap_is_seen() {
        let mut position = Position::after(2);
        position.attached(false);
        let rows = [(1, false), (2, false), (3, true), (3, false), (4, true), (2, false), (5, true)];
        for (seq, shown) in rows {
            let expected = if shown { Taken::Show(update(seq)) } else { Taken::Nothing };
            assert_eq!(position.take(update(seq)), expected, "{seq}");
        }
        assert_eq!(position.take(update(7)), Taken::Gap);
        assert_eq!((position.last(), position.take(update(6))), (5, Taken::Show(update(6))));
        let unnumbered = json!({"update": "said because the log cannot be written"});
        assert_eq!(position.take(unnumbered.clone()), Taken::Show(unnumbered));
    }

    #[test]
    fn a_snapshot_that_broke_off_is_shown_once_all_the_same() {
        let mut position = Position::after(0);
        position.attached(true);
        assert_eq!(position.take(folded(90)), Taken::Nothing);
        assert_eq!(position.last(), 0, "the next link begins before the snapshot");
        position.attached(true);
        for seq in [90, 95, 100] {
            position.take(folded(seq));
        }
        assert_eq!(position.snapshot(100), [folded(90), folded(95), folded(100)]);
        assert_eq!(position.take(update(100)), Taken::Nothing);
        assert_eq!(position.take(update(101)), Taken::Show(update(101)));
    }
}
