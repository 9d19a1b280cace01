//! The asking level of a running agent: a change that no client of ours has chosen is set back.

use super::{
    connection::Reply,
    live::Live,
    stage::{SettingBack, Stage},
};
use crate::{asking::Lowered, limits::SET_BACK};
use serde_json::Value;
use std::time::Instant;

impl Live {
    /// Sets back a change that makes the agent ask less than a client of ours has chosen. `update` is an update, or
    /// the response to a request that changes the level.
    pub(super) fn watch_level(&self, stage: &mut Stage, now: Instant, update: &Value) {
        let may_lower = stage.may_lower;
        let lowered = stage.level.as_mut().map(|level| level.read(update, may_lower)).unwrap_or_default();
        let Some(session) = stage.session.clone() else { return };
        for Lowered { setting, report, back_to } in lowered {
            let (name, what) = (&self.name, setting.word());
            let (from, to) =
                (report.named(report.current.as_deref().unwrap_or_default()), report.named(&back_to));
            let changed = format!("{name} changed its {what} to {from}, in which it asks less");
            stage.set_back += 1;
            if stage.set_back > SET_BACK {
                return self.connection.stop(format!("{changed}, again and again, and was stopped"));
            }
            let (method, params) = setting.set(&session, Some(&report), &back_to);
            let number = self.connection.request(method, &params);
            let why = format!("{changed}, refused to change it back, and was stopped");
            stage.setting_back.insert(number, SettingBack { setting, value: back_to.clone(), why });
            stage.timeline.note(now, &format!("*{changed}. It was set back to {to}.*"));
        }
    }

    /// Handles the response to a request that sets the level back. Returns whether it was one.
    pub(super) fn is_set_back(&self, stage: &mut Stage, now: Instant, number: u64, answer: &Reply) -> bool {
        let Some(SettingBack { setting, value, why }) = stage.setting_back.remove(&number) else {
            return false;
        };
        match answer {
            Ok(answer) => {
                if let Some(level) = &mut stage.level {
                    level.has_set(setting, &value);
                }
                self.watch_level(stage, now, answer);
            }
            Err(_) => self.connection.stop(why),
        }
        true
    }
}
