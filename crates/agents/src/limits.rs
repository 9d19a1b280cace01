//! The limits and intervals of this crate, with their units and reasons.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Maximum run time, after which the program is stopped.
    pub(crate) time: Duration,
    /// Maximum bytes of each stream; the rest is not read.
    pub(crate) bytes: usize,
}

// Processes and their streams.
/// Maximum bytes of a line from an agent, which may hold a whole file.
pub(crate) const LINE: usize = 16 << 20;
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(2);
/// Time for a process to exit after its input was closed, before SIGTERM.
pub(crate) const STOP_PAUSE: Duration = Duration::from_millis(250);
/// Interval for recording the descendants of a group leader; see `Group::record_descendants`.
pub(crate) const FAMILY_CHECK: Duration = Duration::from_secs(10);
pub(crate) const EXIT_CHECK: Duration = Duration::from_millis(250);
/// Time to read the rest of the output after the exit: another process may keep writing.
pub(crate) const PIPE_REST: Duration = Duration::from_secs(30);
/// Bytes of one write: a writable pipe has room for this many.
pub(crate) const PIPE_WRITE: usize = 512;
pub(crate) const CANCEL_CHECK: Duration = Duration::from_millis(20);
/// Time to read the rest of the output after the exit. A process left behind may hold the streams open, and on a busy
/// machine the reader threads still have to be scheduled.
pub(crate) const CAPTURE_REST: Duration = Duration::from_secs(1);

// Agents that speak ACP.
/// Lines read ahead. Bounded, so that an agent's output is read no faster than it is logged.
pub(crate) const ACP_LINES_AHEAD: usize = 8;
/// Maximum bytes waiting for the agent to read them.
pub(crate) const ACP_UNREAD: usize = 64 << 20;
/// Bytes kept from the end of standard error.
pub(crate) const ACP_ERRORS: usize = 4 << 10;
/// Consecutive lines that are not messages before the program is assumed not to speak ACP.
pub(crate) const ACP_BAD_LINES: u64 = 1_000;
/// Maximum bytes of a message spread over several lines, which is detected only for the error message.
pub(crate) const SPREAD: usize = 64 << 10;
/// Updates kept for the first turn that an agent sends before it answers `session/new`.
pub(crate) const EARLY_UPDATES: usize = 1_000;
/// Minimum interval between two reports of the same part of an agent's state; the context in use comes with each step.
pub(crate) const STATE_INTERVAL: Duration = Duration::from_secs(5);
/// The same for parts that change seldom and by a click. It doubles with each report, up to [`STATE_INTERVAL`].
pub(crate) const FIRST_STATE_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of commands that an agent offers, and maximum bytes of a name and a description: Qwen Code sends
/// half a megabyte.
pub(crate) const OFFERED_COMMANDS: usize = 500;
pub(crate) const COMMAND_NAME: usize = 128;
pub(crate) const COMMAND_WORDS: usize = 512;
/// Notes of an agent that can still change, its notices per minute, and maximum bytes of a summary and of a plan.
pub(crate) const NOTES: usize = 100;
pub(crate) const NOTICES: usize = 20;
pub(crate) const SUMMARY_BYTES: usize = 64 << 10;
pub(crate) const PLAN_BYTES: usize = 256 << 10;
pub(crate) const NOTICE_WORDS: usize = 4 << 10;
/// Maximum number of options of a session and of values of one, and maximum bytes of ids and values, labels,
/// descriptions, and all values together.
pub(crate) const SESSION_OPTIONS: usize = 32;
pub(crate) const OPTION_VALUES: usize = 500;
pub(crate) const OPTION_ID: usize = 256;
pub(crate) const OPTION_LABEL: usize = 128;
pub(crate) const OPTION_WORDS: usize = 512;
pub(crate) const OPTIONS_BYTES: usize = 256 << 10;
/// Time for an agent to answer a request that sets an option.
pub(crate) const SET_OPTION: Duration = Duration::from_secs(10);
/// Maximum number of fields of a question and of choices of one, and maximum bytes of its schema and of an address.
pub(crate) const FORM_FIELDS: usize = 50;
pub(crate) const FORM_CHOICES: usize = 200;
pub(crate) const FORM_BYTES: usize = 64 << 10;
pub(crate) const URL_BYTES: usize = 4 << 10;
pub(crate) const PERMISSION_OPTIONS: usize = 16;
/// Times that a changed approval mode is reverted within one process before the agent is stopped.
pub(crate) const REVERSIONS: usize = 3;
/// Time for an agent to exit after its output ends, and time to read the rest of the output after it exits.
pub(crate) const ACP_LINGER: Duration = Duration::from_millis(500);
pub(crate) const ACP_CANCEL_CHECK: Duration = Duration::from_millis(10);
/// Attempts to start an agent for one prompt: an agent that has just exited is restarted once.
pub(crate) const ACP_STARTS: usize = 2;
/// Maximum time between two checks of the timeouts.
pub(crate) const ACP_TICK: Duration = Duration::from_secs(1);
pub(crate) const QUEUED_FILES: usize = 1_000;
pub(crate) const FILE_BYTES: usize = 8 << 20;
pub(crate) const PENDING_REQUESTS: usize = 64;
pub(crate) const OPEN_TERMINALS: usize = 32;
/// Time to read the rest of the output after the command has exited.
pub(crate) const TERMINAL_REST: Duration = Duration::from_millis(300);
/// Bytes of output kept if the agent sets no limit; also the maximum.
pub(crate) const TERMINAL_OUTPUT: u64 = 1 << 20;
/// Bytes of a workspace file that are compared before a command that names it runs.
pub(crate) const DIGESTED_BYTES: u64 = 16 << 20;
/// Maximum number of paths that a command's words may mean, and of workspace files among them; above either, approval
/// is asked each time.
pub(crate) const NAMED_PATHS: usize = 20_000;
pub(crate) const NAMED_FILES: usize = 50;
/// Maximum bytes of the variables that an agent adds: the user has to read them.
pub(crate) const ADDED_VARIABLES: usize = 64 << 10;
/// Content pieces and locations shown per call.
pub(crate) const CALL_PIECES: usize = 200;

// Agent output in our log.
pub(crate) const TITLE_CHARS: usize = 300;
/// Maximum bytes of a text shown in a call; see `ToolContent::Text`.
pub(crate) const SHOWN_TEXT: usize = 64 << 10;
/// Maximum bytes of each side of a diff; see `ToolContent::Diff`.
pub(crate) const DIFF_SIDE: usize = 256 << 10;
/// Bytes kept of a terminal shown in a call; see `ToolContent::Terminal`.
pub(crate) const SHOWN_TERMINAL: usize = 64 << 10;
pub(crate) const CALL_TERMINALS: usize = 16;
pub(crate) const TERMINALS: usize = 1_000;
/// Minimum time between two updates of one terminal; longer for a larger one, since every update logs all of it.
pub(crate) const TERMINAL_UPDATE: Duration = Duration::from_millis(250);
/// Calls remembered from one turn to the next, and the maximum number of calls per turn.
pub(crate) const CALLS: usize = 10_000;
/// The number of most recent calls whose terminals are updated while they grow.
pub(crate) const RECENT_CALLS: usize = 100;
/// Bytes of text and diffs above which a call's terminals are updated only when it ends: every update logs all content.
pub(crate) const RESENT_BYTES: usize = 64 << 10;
/// Message ids remembered from earlier turns, to recognize late text.
pub(crate) const MESSAGE_IDS: usize = 1_000;
/// Maximum bytes of the last message, kept as the outcome of a turn.
pub(crate) const OUTCOME_BYTES: usize = 1 << 20;
pub(crate) const PLAN_STEPS: usize = 200;
/// Pages, rows and time of the list of an agent's own sessions.
pub(crate) const SESSION_PAGES: usize = 20;
pub(crate) const SESSION_ROWS: usize = 2_000;
pub(crate) const LIST_SESSIONS: Duration = Duration::from_secs(10);
/// Sub-agents of one process, and how deep they may start others.
pub(crate) const SUBAGENTS: usize = 100;
pub(crate) const SUBAGENT_DEPTH: usize = 4;

// Detection of agents.
/// For the login shell. A start-up file that prompts for input never ends; a slow one takes a second or two.
pub(crate) const ASK_SHELL: Bounds = Bounds { time: Duration::from_secs(5), bytes: 1 << 20 };
/// Gemini CLI takes seconds to start, and more beside other work.
pub(crate) const ASK_VERSION: Bounds = Bounds { time: Duration::from_secs(15), bytes: 16 << 10 };
pub(crate) const ASK_NPM: Bounds = Bounds { time: Duration::from_secs(5), bytes: 4 << 10 };
/// Maximum characters shown of a version or an error.
pub(crate) const VERSION_CHARS: usize = 200;
/// Parent folders of the program to search for `package.json`.
pub(crate) const PACKAGE_LEVELS: usize = 5;
pub(crate) const PACKAGE_BYTES: u64 = 1 << 20;
/// Time for an answer to `initialize`. The slowest known agent takes four seconds on a small machine.
pub(crate) const INTRODUCTION: Duration = Duration::from_secs(15);
/// Time for the login state to follow that answer, for agents that announce one.
pub(crate) const LOGIN_STATE: Duration = Duration::from_secs(3);
/// Lines read ahead until then.
pub(crate) const LINES_AHEAD: usize = 256;
pub(crate) const INTRODUCTION_CHECK: Duration = Duration::from_millis(50);
/// Maximum bytes of output up to then.
pub(crate) const INTRODUCTION_BYTES: usize = 1 << 20;
/// The same for standard error.
pub(crate) const INTRODUCTION_ERRORS: usize = 64 << 10;
/// Agents checked in parallel: each may be a whole Node process.
pub(crate) const CHECKS_AT_ONCE: usize = 3;
/// Time a prompt waits for an agent to be checked: the shell alone may take 5 s.
pub(crate) const FIRST_CHECK: Duration = Duration::from_secs(20);
pub(crate) const SHUTDOWN: Duration = Duration::from_secs(2);

// Installation of agents.
/// For the whole of one npm run: half a gigabyte on a slow line.
pub(crate) const INSTALL: Duration = Duration::from_secs(60 * 60);
/// For one question to npm's registry.
pub(crate) const ASK_REGISTRY: Bounds = Bounds { time: Duration::from_secs(60), bytes: 64 << 10 };
/// Bytes kept from the end of npm's standard error.
pub(crate) const NPM_ERRORS: usize = 64 << 10;
/// Maximum depth of the folders whose sizes are added up.
pub(crate) const DIRECTORY_LEVELS: usize = 40;
/// For the list of packages, and its maximum bytes: it has 100 KB.
pub(crate) const FETCH_LIST: Duration = Duration::from_secs(30);
pub(crate) const LIST_BYTES: usize = 4 << 20;

// Login.
/// Bytes of output after which a login program is stopped.
pub(crate) const LOGIN_BYTES: usize = 64 << 20;
/// Maximum bytes typed at a time, and number of such texts that wait for the program to read them.
pub(crate) const LOGIN_TEXT: usize = 4 << 10;
pub(crate) const LOGIN_TYPED: usize = 64;
/// Time without a client that shows the login, after which it is stopped, and the interval of that check.
pub(crate) const LOGIN_CHECK: Duration = Duration::from_secs(10);
pub(crate) const LOGIN_FORGOTTEN: Duration = Duration::from_secs(10 * 60);

// Agents that the user adds.
/// Maximum number of custom agents: each appears on every card and in every picker.
pub(crate) const ADDED_AGENTS: usize = 50;
pub(crate) const ID_BYTES: usize = 64;
/// Maximum bytes of any other text: every client shows it.
pub(crate) const SETTING_BYTES: usize = 8 << 10;
/// Maximum number of arguments, variables or headers.
pub(crate) const SETTING_ENTRIES: usize = 100;

// Models behind an address.
pub(crate) const ERROR_BODY: usize = 64 << 10;
/// Time to drain a finished answer: less than a new handshake takes.
pub(crate) const DRAIN: Duration = Duration::from_millis(20);
/// Maximum bytes between the ends of two frames, comments included.
pub(crate) const FRAME: usize = 2 << 20;
/// Bytes passed to the parser at a time: it moves the remainder after every line.
pub(crate) const FRAME_PIECE: usize = 64 << 10;
pub(crate) const WHOLE_ANSWER: usize = 8 << 20;
/// Maximum bytes of call arguments per answer; longer ones are cut, which makes them invalid.
pub(crate) const CALL_BYTES: usize = 1 << 20;
/// Maximum number of calls kept per answer; the agent loop runs fewer.
pub(crate) const ANSWER_CALLS: usize = 64;
pub(crate) const NAME_CHARS: usize = 64;
pub(crate) const SERVER_MESSAGE_CHARS: usize = 200;
