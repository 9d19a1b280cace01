//! What is kept about agents: their own sessions, the options that they offered last, and the values that the user chose.

use super::{error::StoreError, handle::Store};
use openagents_core::{
    agent::{EarlierKind, EarlierSession},
    update::{OptionChoices, OptionValue, SessionOption},
};
use rusqlite::{Connection, OptionalExtension as _, Params, params, params_from_iter};
use serde::{Serialize, de::DeserializeOwned};
use std::path::Path;

/// The row of an agent's choices that counts in every workspace.
const ANYWHERE: &str = "";

const IN_PLACE: &str = "SELECT choices_json FROM agent_choices WHERE agent_id = ?1 AND cwd = ?2";
const IN_SESSION: &str = "SELECT choices_json FROM session_choices WHERE session_id = ?1 AND agent_id = ?2";

/// The kinds of an agent's earlier session: [`EarlierKind`].
const OWN: i64 = 0;
const BRANCHED: i64 = 1;

impl Store {
    /// Stores an agent's own id for a session. Blocks.
    pub fn remember_agent_session(
        &self,
        session_id: &str,
        agent_id: &str,
        agent_session_id: &str,
    ) -> Result<(), StoreError> {
        self.store_agent_session([session_id, agent_id, agent_session_id], OWN)
    }

    /// Stores that a session begins with a copy of an agent's session. Blocks.
    pub(crate) fn copy_agent_session(
        &self,
        session_id: &str,
        agent_id: &str,
        agent_session_id: &str,
    ) -> Result<(), StoreError> {
        self.store_agent_session([session_id, agent_id, agent_session_id], BRANCHED)
    }

    fn store_agent_session(&self, row: [&str; 3], kind: i64) -> Result<(), StoreError> {
        let row = row.map(str::to_owned);
        self.write(move |transaction, _| {
            let sql = "INSERT OR REPLACE INTO agent_sessions VALUES (?1, ?2, ?3, ?4)";
            transaction.execute(sql, params![row[0], row[1], row[2], kind]).map(drop)
        })
    }

    /// Marks the branches of an agent's session, which is about to go on, as passed. Blocks.
    pub(crate) fn pass_branches(&self, agent_id: &str, agent_session_id: &str) -> Result<(), StoreError> {
        let row = [agent_id, agent_session_id].map(str::to_owned);
        self.write(move |transaction, _| {
            let sql = "UPDATE agent_sessions SET kind = 2 WHERE kind = 1 AND agent_id = ?1 AND agent_session_id = ?2";
            transaction.prepare_cached(sql)?.execute(params_from_iter(&row)).map(drop)
        })
    }

    /// Returns the agent's session that belongs to a session, or to the one that it branched from. Blocks.
    pub fn agent_session(
        &self,
        session_id: &str,
        agent_id: &str,
    ) -> Result<Option<EarlierSession>, StoreError> {
        self.query(|connection| {
            connection
                .prepare_cached(
                    "SELECT agent_session_id, kind FROM agent_sessions
                     WHERE session_id = ?1 AND agent_id = ?2",
                )?
                .query_row([session_id, agent_id], |row| {
                    let kind = match row.get(1)? {
                        OWN => EarlierKind::Own,
                        BRANCHED => EarlierKind::Branched,
                        _ => EarlierKind::Passed,
                    };
                    Ok(EarlierSession { id: row.get(0)?, kind })
                })
                .optional()
        })
    }

    /// Returns agents, their own sessions, and the sessions that these belong to. Blocks.
    pub(crate) fn own_agent_sessions(&self) -> Result<Vec<(String, String, String)>, StoreError> {
        self.query(|connection| {
            connection
                .prepare_cached(
                    "SELECT agent_id, agent_session_id, session_id FROM agent_sessions WHERE kind = 0",
                )?
                .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect()
        })
    }

    /// Returns the session that continues a session of an agent's own. Blocks.
    pub(crate) fn session_with(
        &self,
        agent_id: &str,
        agent_session_id: &str,
    ) -> Result<Option<String>, StoreError> {
        self.query(|connection| {
            connection
                .prepare_cached(
                    "SELECT session_id FROM agent_sessions
                     WHERE kind = 0 AND agent_id = ?1 AND agent_session_id = ?2",
                )?
                .query_row([agent_id, agent_session_id], |row| row.get(0))
                .optional()
        })
    }

    /// Returns the options that an agent offered last, in any session. Blocks.
    pub(crate) fn agent_options(&self, agent: &str) -> Result<Vec<SessionOption>, StoreError> {
        let sql = "SELECT options_json FROM agent_options WHERE agent_id = ?1";
        Ok(self.query(|connection| read(connection, sql, [agent]))?.unwrap_or_default())
    }

    /// Stores the options that an agent offers. Blocks.
    pub(crate) fn keep_agent_options(
        &self,
        agent: &str,
        options: &[SessionOption],
    ) -> Result<(), StoreError> {
        let (agent, json) = (agent.to_owned(), json(&options)?);
        self.write(move |transaction, _| {
            let sql = "INSERT OR REPLACE INTO agent_options VALUES (?1, ?2)";
            transaction.prepare_cached(sql)?.execute(params![agent, json]).map(drop)
        })
    }

    /// Returns the values that the user last chose for an agent: those in a workspace before those elsewhere. Blocks.
    pub(crate) fn agent_choices(&self, agent: &str, cwd: &Path) -> Result<OptionChoices, StoreError> {
        self.query(|connection| in_workspace(connection, agent, &cwd.to_string_lossy()))
    }

    /// Stores a value that the user chose for an agent: in a session, and, if it is `remembered`, for later ones: in the
    /// workspace, or also elsewhere (`true`). Blocks.
    pub(crate) fn keep_choice(
        &self,
        session_id: &str,
        agent: &str,
        cwd: &Path,
        (option, value): (&str, &OptionValue),
        remembered: Option<bool>,
    ) -> Result<(), StoreError> {
        let (session, agent) = (session_id.to_owned(), agent.to_owned());
        let cwd = cwd.to_string_lossy().into_owned();
        let (option, value) = (option.to_owned(), value.clone());
        self.write(move |transaction, _| {
            let chosen = |mut choices: OptionChoices| {
                choices.insert(option.clone(), value.clone());
                serde_json::to_string(&choices).unwrap_or_default()
            };
            let choices = match read(transaction, IN_SESSION, [&session, &agent])? {
                Some(choices) => choices,
                None => in_workspace(transaction, &agent, &cwd)?,
            };
            write_session_choices(transaction, &session, &agent, &chosen(choices))?;
            let places: &[&str] = match remembered {
                None => &[],
                Some(false) => &[&cwd],
                Some(true) => &[&cwd, ANYWHERE],
            };
            for place in places {
                let choices = read(transaction, IN_PLACE, [&agent, *place])?.unwrap_or_default();
                transaction
                    .prepare_cached("INSERT OR REPLACE INTO agent_choices VALUES (?1, ?2, ?3)")?
                    .execute(params![agent, place, chosen(choices)])?;
            }
            Ok(())
        })
    }

    /// Returns the values that were chosen for an agent in a session; `None` if none were ever stored. Blocks.
    pub(crate) fn session_choices(
        &self,
        session_id: &str,
        agent: &str,
    ) -> Result<Option<OptionChoices>, StoreError> {
        self.query(|connection| read(connection, IN_SESSION, [session_id, agent]))
    }

    /// Stores the values that were chosen for an agent in a session. Blocks.
    pub(crate) fn set_session_choices(
        &self,
        session_id: &str,
        agent: &str,
        choices: &OptionChoices,
    ) -> Result<(), StoreError> {
        let (session_id, agent, json) = (session_id.to_owned(), agent.to_owned(), json(choices)?);
        self.write(move |transaction, _| write_session_choices(transaction, &session_id, &agent, &json))
    }
}

fn in_workspace(connection: &Connection, agent: &str, cwd: &str) -> rusqlite::Result<OptionChoices> {
    let mut choices: OptionChoices = read(connection, IN_PLACE, [agent, ANYWHERE])?.unwrap_or_default();
    choices.extend(read::<OptionChoices>(connection, IN_PLACE, [agent, cwd])?.unwrap_or_default());
    Ok(choices)
}

fn write_session_choices(
    connection: &Connection,
    session: &str,
    agent: &str,
    json: &str,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO session_choices VALUES (?1, ?2, ?3)";
    connection.prepare_cached(sql)?.execute([session, agent, json]).map(drop)
}

fn json(value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Sqlite(error.to_string()))
}

/// Reads the JSON of the only row. What an older version cannot read counts as absent.
fn read<T: DeserializeOwned>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> rusqlite::Result<Option<T>> {
    let json: Option<String> =
        connection.prepare_cached(sql)?.query_row(params, |row| row.get(0)).optional()?;
    Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewSession;

    fn select(value: &str) -> OptionValue {
        OptionValue::Select(value.to_owned())
    }

    #[test]
    fn choices_in_a_workspace_come_before_those_elsewhere() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let (one, two) = (Path::new("/one"), Path::new("/two"));
        for id in ["1", "2"] {
            let new = NewSession { id: id.to_owned(), cwd: "/one".into(), mode: "codex".to_owned() };
            store.create_session(new).unwrap();
        }
        assert_eq!(store.agent_choices("codex", one).unwrap(), OptionChoices::new());
        store.keep_choice("1", "codex", one, ("model", &select("a")), Some(true)).unwrap();
        store.keep_choice("2", "codex", two, ("model", &select("b")), Some(true)).unwrap();
        store.keep_choice("2", "codex", two, ("fast", &OptionValue::Switch(true)), Some(true)).unwrap();
        store.keep_choice("2", "codex", two, ("mode", &select("edits")), Some(false)).unwrap();
        store.keep_choice("2", "codex", two, ("mode", &select("bypass")), None).unwrap();
        assert_eq!(store.session_choices("2", "codex").unwrap().unwrap()["mode"], select("bypass"));
        assert_eq!(store.session_choices("1", "codex").unwrap().unwrap().len(), 1);
        let model = |cwd| store.agent_choices("codex", cwd).unwrap().remove("model");
        assert_eq!(
            [model(one), model(two), model(Path::new("/three"))],
            ["a", "b", "b"].map(|it| Some(select(it)))
        );
        assert_eq!(store.agent_choices("codex", one).unwrap()["fast"], OptionValue::Switch(true));
        assert_eq!(store.agent_choices("codex", two).unwrap()["mode"], select("edits"));
        assert_eq!(store.agent_choices("codex", one).unwrap().get("mode"), None);
        assert_eq!(store.agent_choices("gemini", one).unwrap(), OptionChoices::new());
    }

    #[test]
    fn session_keeps_its_choices_until_it_is_deleted() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open(home.path(), "").unwrap();
        let new = NewSession { id: "s".to_owned(), cwd: "/projects/demo".into(), mode: "codex".to_owned() };
        store.create_session(new).unwrap();
        assert_eq!(store.session_choices("s", "codex").unwrap(), None);
        let choices = OptionChoices::from([("mode".to_owned(), select("auto"))]);
        store.set_session_choices("s", "codex", &choices).unwrap();
        assert_eq!(store.session_choices("s", "codex").unwrap(), Some(choices));
        assert_eq!(store.session_choices("s", "gemini").unwrap(), None);
        store.delete_sessions(vec!["s".to_owned()]).unwrap();
        assert_eq!(store.session_choices("s", "codex").unwrap(), None);
    }
}
