//! What the bridge and its clients send each other, beside the standard parts of ACP: the methods under `_openagents/`
//! ([`Call`], [`Event`], [`METHODS`]) and our members of `_meta` objects ([`meta`](mod@meta)).
//!
//! The page's types and the protocol reference are generated from here (`make generate`); a test fails if they differ.
//! Types of the domain that are sent as they are stored (approvals, findings, models, agents) are in `openagents-core`.
//!
//! Times are milliseconds since the epoch, and sizes are bytes. An optional member may be absent or `null`, with the same
//! meaning.
//!
//! # Layers
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `devices` | devices, access requests, the network |
//! | 1 | `history` | the sessions of other agents |
//! | 1 | `settings` | trusted folders, privacy, routing decisions |
//! | 1 | `usage` | tokens and costs of the requests that agents made |
//! | 2 | `keep` | kept copies of other agents' sessions |
//! | 2 | `live` | what the agents on this computer are doing |
//! | 2 | `share` | sessions as files, and briefs for other agents |
//! | 2 | `meta` | our members of `_meta` objects |
//! | 3 | `sessions` | live sessions |
//! | 4 | `method` | the table of methods |

mod devices;
mod history;
mod keep;
mod live;
mod meta;
mod method;
mod sessions;
mod settings;
mod share;
mod usage;

#[cfg(test)]
mod generated_tests;

pub use devices::{
    Access, AllowedApp, AuditPage, AuditQuery, Device, DeviceCommand, DeviceName, DeviceRequest,
    DevicesSnapshot, IosAccess, Listener, NetworkChange, NetworkState, OpenListener, Pairing, RemoteAction,
    Revoked, Scope,
};
pub use history::{
    ExcludedHistory, ExclusionChange, FindLines, FolderQuery, HistoryAgent, HistoryChange, HistoryFilter,
    HistoryPage, HistorySnapshot, KeptCopy, LineText, ListHistory, MapFolder, MovedFolder, NotSearched,
    PastChanges, PastLines, PastPart, PastSession, Progress, ReadHistory, ReadLine, SearchHit, SearchResults,
    SearchSessions, SessionName, SuggestedFolder, SuggestedFolders,
};
pub use keep::{
    CopyVersion, CopyVersions, DamagedCopy, DeletedSoon, ForgetCopies, ForgottenCopies, KeepChange,
    KeepSnapshot, KeepState, RestoreCopy, RestoredFiles, VerifiedCopies, WhenDeleted,
};
pub use live::{Certainty, LiveKind, LiveSession, LiveSnapshot};
pub use meta::{
    ClientMeta, ConnectionMeta, EditsMeta, EndMeta, EntryMeta, ListMeta, LoginMeta, Meta, ModeMeta,
    NewSessionMeta, NoticeMeta, OptionValueMeta, PermissionMeta, PlanMeta, Policy, PromptMeta,
    PromptParamsMeta, RoutingMeta, SessionMeta, SpeechMeta, StateMeta, TerminalMeta, ToolMeta, UpdateMeta,
    meta, ours,
};
pub use method::{Call, Command, Event, METHODS, Method, MethodInfo, NOTIFICATIONS, methods};
pub use sessions::{
    ActivityParams, AgentSession, AgentSessions, AgentSessionsQuery, AnswerApproval, AskBeforeEdits,
    AttachParams, AttachResult, ContinueSession, DelegateParams, DelegateResult, DeleteAgentSession, Empty,
    Excerpt, ExcerptQuery, ExploreParams, ExploreResult, FindFiles, FoundFiles, FoundSymbol, Frame, Frames,
    Html, ImageData, InspectParams, LabelSession, Markdown, Planner, QueueParams, QueuedPrompt, ReadImage,
    RemoveQueued, Removed, ResumeApproval, RevokeRules, SendNow, SessionRef, SessionsParams, SnapshotMark,
    SnapshotParams, StandingRule, StandingRules, UpdatePage, UpdateParams, UpdateQuery, WorkspaceInfo,
    WorkspacesResult,
};
pub use settings::{
    AgentOptions, AgentOptionsQuery, Decisions, LoginScreenQuery, PastDecision, PrivacyCell, PrivacyChange,
    PrivacyRow, PrivacySnapshot, TrustResult, TrustSnapshot, TrustedWorkspace, Watch, WorkspacePath,
};
pub use share::{
    BriefLine, BriefQuery, ExportFormat, ExportPart, ExportedTools, PrepareExport, PreparedExport,
    ReadExport, SessionBrief, SessionSecret,
};
pub use usage::{
    AgentLimit, UsageBy, UsageNote, UsageOfAgent, UsagePrices, UsageQuery, UsageReading, UsageReport,
    UsageRow, UsageSum,
};
