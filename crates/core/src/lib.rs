//! The domain of OpenAgents Desktop: a workspace, the updates of a session, trust, and the traits of models and agents.
//!
//! **Architecture invariant:** nothing here knows a dialect, a socket, a window or a terminal. The serde form of the types
//! in [`update`] is the event store's; each dialect converts them at the edge. Types that clients receive unchanged
//! derive the page's types.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `json_text` | JSON of other programs, with lone surrogates replaced |
//! | 0 | `limits` | tunable numbers |
//! | 0 | `visible` | invisible characters as escapes, words quoted for bash |
//! | 1 | `agent_ids` | ids of agents and models |
//! | 1 | `approval` | approvals that agents request |
//! | 1 | `budget` | deadline, cancellation and progress of bounded work |
//! | 1 | `clock` | the time, as it is stored |
//! | 1 | `file` | opening untrusted files of other programs |
//! | 1 | `folders` | folders that this program keeps on disk |
//! | 1 | `isolated` | work on a thread that may hang or panic |
//! | 1 | `model` | `LanguageModel`: messages in, events out; settings; `LocalModels` |
//! | 1 | `parallel` | independent work on a few threads |
//! | 1 | `shell_line` | the files that a shell line may run or read |
//! | 1 | `terms` | words of questions and of code: stop words, stems, vocabulary |
//! | 1 | `text` | shortening text |
//! | 1 | `usage` | tokens of requests to models, and what they cost |
//! | 1 | `workspace` | one directory, and opening files beneath it |
//! | 2 | `git` | git's files: worktrees, the index, the last commit |
//! | 2 | `helper` | helper programs: finding them, their client, lines of JSON |
//! | 2 | `update` | entries of a session's log |
//! | 2 | `walk` | files of a workspace, without ignored ones |
//! | 3 | `agent` | agents that the user can choose: their trait, events, conversation and settings |
//! | 3 | `trust` | the agent settings in a folder, and the folders that trust covers |

pub mod agent;
pub mod agent_ids;
pub mod approval;
pub mod budget;
pub mod clock;
pub mod file;
pub mod folders;
pub mod git;
pub mod helper;
pub mod isolated;
pub mod json_text;
mod limits;
pub mod model;
pub mod parallel;
pub mod shell_line;
pub mod terms;
pub mod text;
pub mod trust;
pub mod update;
pub mod usage;
pub mod visible;
pub mod walk;
pub mod workspace;

pub use tokio_util::sync::CancellationToken;
