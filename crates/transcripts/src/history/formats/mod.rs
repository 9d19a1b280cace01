//! The formats of the agents, a file or a folder each.

mod amp;
mod calls;
pub(super) mod chats;
mod claude;
pub(super) mod cline;
mod codex;
mod copilot;
mod cursor;
mod droid;
mod folder;
mod goose;
pub(super) mod opencode;
mod pi;
pub(super) mod qwen;
mod records;

use super::{
    format::FormatSpec,
    requests::UsageSource::{Lines, Whole},
    transcript::Provider,
    usage,
};

pub(crate) fn spec(provider: Provider) -> &'static FormatSpec {
    &FORMATS[provider as usize]
}

/// In the order of [`Provider`].
static FORMATS: [FormatSpec; Provider::ALL.len()] =
    [
        FormatSpec {
            root: |environment| environment.folder_or("CODEX_HOME", ".codex"),
            watched: &["sessions", "archived_sessions"],
            names: codex::names,
            single_lines: Some(|| Box::new(codex::decoder::CodexDecoder::of_single_lines())),
            find_undone: Some(codex::undone::undone),
            own_summary: Some(codex::summary::summarise),
            every_log: Some(codex::files),
            usage: Some(Lines(usage::codex)),
            ..FormatSpec::new(Provider::Codex, codex::discover, |files, locate, budget| {
                Box::new(codex::decoder::CodexDecoder::new(files, locate, budget))
            })
        },
        FormatSpec {
            root: |environment| environment.folder_or("CLAUDE_CONFIG_DIR", ".claude"),
            watched: &["projects"],
            may_have_run_below: claude::may_have_run_below,
            single_lines: Some(|| Box::new(claude::ClaudeDecoder::of_single_lines())),
            tree: |_| Some(claude::TREE),
            own_summary: Some(|file, _, budget| claude::summarise(file, budget)),
            every_log: Some(claude::every_log),
            usage: Some(Lines(usage::claude)),
            beside: claude::beside,
            ..FormatSpec::new(Provider::ClaudeCode, claude::discover, |files, _, budget| {
                Box::new(claude::ClaudeDecoder::new(files.newest, budget))
            })
        },
        FormatSpec {
            root: |environment| {
                let replaced = environment.folder("GEMINI_CLI_HOME").map(|home| home.join(".gemini"));
                replaced.or_else(|| environment.beneath_home(".gemini"))
            },
            watched: &["tmp"],
            open: chats::open,
            usage: Some(Whole(usage::gemini)),
            beside: chats::beside,
            ..FormatSpec::new(Provider::Gemini, chats::discover, |files, _, _| {
                Box::new(chats::ChatDecoder::new(chats::workspace(files.newest)))
            })
        },
        FormatSpec {
            root: |environment| {
                let runtime = environment.folder("QWEN_RUNTIME_DIR");
                runtime.or_else(|| environment.folder_or("QWEN_HOME", ".qwen"))
            },
            watched: &["projects", "tmp"],
            open: qwen::open,
            tree: qwen::tree,
            usage: Some(Whole(usage::qwen)),
            ..FormatSpec::new(Provider::Qwen, qwen::discover, |files, _, _| qwen::decoder(files))
        },
        FormatSpec {
            root: |environment| environment.folder_or("COPILOT_HOME", ".copilot"),
            watched: &["session-state"],
            usage: Some(Whole(usage::copilot)),
            beside: |log| vec![copilot::workspace_of(log)],
            ..FormatSpec::new(Provider::Copilot, copilot::discover, |files, _, _| {
                Box::new(copilot::CopilotDecoder::new(files.newest))
            })
        },
        FormatSpec {
            root: |environment| environment.folder_or("PI_CODING_AGENT_DIR", ".pi/agent"),
            watched: &["sessions"],
            tree: |_| Some(pi::TREE),
            usage: Some(Lines(usage::pi)),
            ..FormatSpec::new(Provider::Pi, pi::discover, |_, _, _| Box::new(pi::PiDecoder::new(|text| text)))
        },
        FormatSpec {
            root: |environment| environment.folder_or("OPENCLAW_STATE_DIR", ".openclaw"),
            other_roots: |environment| {
                let moved = environment.folder("OPENCLAW_STATE_DIR").is_some();
                environment.beneath_home(".clawdbot").filter(|_| !moved).into_iter().collect()
            },
            watched: &["agents"],
            tree: |_| Some(pi::OPENCLAW_TREE),
            usage: Some(Lines(usage::openclaw)),
            ..FormatSpec::new(Provider::OpenClaw, pi::discover_openclaw, |_, _, _| {
                Box::new(pi::PiDecoder::new(pi::typed))
            })
        },
        FormatSpec {
            root: |environment| environment.beneath_home(".cursor"),
            watched: &["projects"],
            may_have_run_in: cursor::may_have_run_in,
            may_have_run_below: cursor::may_have_run_below,
            open: cursor::open,
            beside: cursor::beside,
            ..FormatSpec::new(Provider::Cursor, cursor::discover, |files, _, _| {
                Box::new(cursor::CursorDecoder::new(files.newest))
            })
        },
        FormatSpec {
            root: |environment| {
                let threads = environment.folder("AMP_THREADS_DIR");
                threads.or_else(|| Some(environment.data_home()?.join("amp/threads")))
            },
            watched: &[""],
            open: amp::open,
            usage: Some(Whole(usage::amp)),
            ..FormatSpec::new(Provider::Amp, amp::discover, |_, _, _| Box::new(amp::AmpDecoder::default()))
        },
        FormatSpec {
            root: cline::root,
            other_roots: cline::other_roots,
            watched: &["", "tasks", "sessions"],
            open: cline::open,
            usage: Some(Whole(usage::cline)),
            beside: cline::beside,
            ..FormatSpec::new(Provider::Cline, cline::discover, |files, _, _| {
                Box::new(cline::decoder::ClineDecoder::new(files.newest))
            })
        },
        FormatSpec {
            root: |environment| environment.beneath_home(".factory"),
            watched: &["sessions"],
            usage: Some(Whole(usage::droid)),
            beside: |log| vec![log.with_extension("settings.json")],
            ..FormatSpec::new(Provider::Droid, droid::discover, |files, _, _| {
                Box::new(droid::DroidDecoder::new(files.newest))
            })
        },
        FormatSpec {
            root: opencode::root,
            other_roots: opencode::other_roots,
            watched: &["", "storage"],
            is_database: true,
            open: opencode::open,
            usage: Some(Whole(usage::opencode)),
            beside: opencode::beside,
            tables: opencode::TABLES,
            ..FormatSpec::new(Provider::Opencode, opencode::discover, |_, _, _| {
                Box::new(opencode::OpencodeDecoder::default())
            })
        },
        FormatSpec {
            root: |environment| {
                let moved = environment.folder("GOOSE_PATH_ROOT").map(|root| root.join("data"));
                moved.or_else(|| environment.beneath_home(".local/share/goose"))
            },
            watched: &["sessions"],
            is_database: true,
            open: goose::open,
            usage: Some(Whole(usage::goose)),
            tables: &[("sessions", "id"), ("messages", "session_id")],
            ..FormatSpec::new(Provider::Goose, goose::discover, |_, _, _| {
                Box::new(goose::GooseDecoder::default())
            })
        },
    ];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_order_of_providers() {
        assert_eq!(FORMATS.each_ref().map(|format| format.provider), Provider::ALL);
        assert_eq!(Provider::ALL.map(|provider| spec(provider).provider), Provider::ALL);
    }
}
