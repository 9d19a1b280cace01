//! The table of our methods: names, scopes, types. The bridge parses with it, clients call with it, and the protocol
//! reference is written from it.

use crate::{devices::*, history::*, keep::*, live::*, sessions::*, settings::*, share::*, usage::*};
use openagents_core::{
    agent::{AgentCommand, AgentsSnapshot},
    model::{ModelCommand, ModelsSnapshot},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A method of the bridge.
pub trait Method {
    /// `_openagents/…`.
    const NAME: &'static str;
    /// What the client sends.
    type Params: Serialize + DeserializeOwned;
    /// What the bridge answers.
    type Answer: Serialize + DeserializeOwned;
}

/// A command: the variant is the last segment of the method, its fields are the params.
pub trait Command: Serialize + DeserializeOwned {
    /// `_openagents/models/`, …
    const PREFIX: &'static str;
    /// The state after the command.
    type Answer: Serialize + DeserializeOwned;

    /// Returns the method and the params.
    fn to_call(&self) -> Result<(String, Value), serde_json::Error> {
        let (verb, params) = match serde_json::to_value(self)? {
            Value::Object(command) => command.into_iter().next().unwrap_or_default(),
            verb => (verb.as_str().unwrap_or_default().to_owned(), Value::Object(Default::default())),
        };
        Ok((format!("{}{verb}", Self::PREFIX), params))
    }
}

/// A notification of the bridge.
pub trait Event {
    /// `_openagents/…`.
    const NAME: &'static str;
    /// Its params.
    type Params: Serialize + DeserializeOwned;
}

/// A row of the protocol reference.
#[derive(Debug, Clone, Copy)]
pub struct MethodInfo {
    /// `_openagents/…`.
    pub name: &'static str,
    /// The scope that a call needs; `None` for a notification.
    pub scope: Option<Scope>,
    /// What it does.
    pub summary: &'static str,
    /// Errors beside the general ones.
    pub errors: &'static [&'static str],
    /// TypeScript name of the params.
    pub params: fn() -> String,
    /// TypeScript name of the answer; `None` for a notification.
    pub answer: Option<fn() -> String>,
}

fn typescript<T: ts_rs::TS>() -> String {
    T::name(&ts_rs::Config::new())
}

const NO_OWN_SESSIONS: &str = "-32602: the agent is unknown, can't do this, or may not start in the folder";
const NO_SESSION: &str = "-32002: the session does not exist";
const NO_FOLDER: &str = "-32602: the folder does not exist, or is not known and the scope is not `admin`";
const NO_HISTORY: &str = "-32600: other agents' sessions are shown only on the computer that stores them";
const NO_PAST_SESSION: &str = "-32002: the agent no longer has the session";
const ONLY_HERE: &str = "-32600: the client is not on the computer itself";
const NO_APPROVAL: &str = "-32002: the approval does not exist, or was answered";
const NO_DEVICE: &str = "-32002: the device does not exist";
const ENDED: &str = "-32000: the request has ended";
const NO_MODEL: &str = "-32002 (`unknown_model`): the model does not exist";
const NO_AGENT: &str = "-32002 (`unknown_agent`): the agent does not exist";
const REFUSED: &str = "-32000 (`refused`): the message says why";

macro_rules! methods {
    (
        methods { $($name:literal $scope:ident $method:ident($params:ty) -> $answer:ty: $summary:literal $([$($error:expr),+])?;)+ }
        commands { $($prefix:literal $call:ident($command:ty) -> $state:ty { $($verb:literal: $does:literal $([$($fails:expr),+])?;)+ })+ }
        events { $($event_name:literal $event:ident($event_params:ty): $event_summary:literal;)+ }
    ) => {
        /// Names of the methods and notifications, as types.
        pub mod methods {
            use super::*;
            $(
                #[doc = concat!("`", $name, "`: ", $summary)]
                #[derive(Debug, Clone, Copy)]
                pub enum $method {}

                impl Method for $method {
                    const NAME: &'static str = $name;
                    type Params = $params;
                    type Answer = $answer;
                }
            )+
            $(
                #[doc = concat!("`", $event_name, "`: ", $event_summary)]
                #[derive(Debug, Clone, Copy)]
                pub enum $event {}

                impl Event for $event {
                    const NAME: &'static str = $event_name;
                    type Params = $event_params;
                }
            )+
        }

        $(impl Command for $command {
            const PREFIX: &'static str = $prefix;
            type Answer = $state;
        })+

        /// Visits the types of all params and answers.
        #[cfg(test)]
        pub(crate) fn visit_types(visitor: &mut impl ts_rs::TypeVisitor) {
            $(visitor.visit::<$params>(); visitor.visit::<$answer>();)+
            $(visitor.visit::<$command>(); visitor.visit::<$state>();)+
            $(visitor.visit::<$event_params>();)+
        }

        /// A parsed call of one of our methods.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Call {
            $(#[doc = $summary] $method($params),)+
            $(#[doc = concat!("A command below `", $prefix, "`.")] $call($command),)+
        }

        impl Call {
            /// Parses the params of the method `name`. Absent params count as an empty object.
            pub fn parse(name: &str, params: Value) -> Result<Self, serde_json::Error> {
                let params = if params.is_null() { Value::Object(Default::default()) } else { params };
                match name {
                    $($name => serde_json::from_value(params).map(Self::$method),)+
                    $($(concat!($prefix, $verb) => read_command($verb, params).map(Self::$call),)+)+
                    _ => Err(serde::de::Error::custom("unknown method")),
                }
            }
        }

        /// Every method, in the order of the reference.
        pub const METHODS: &[MethodInfo] = &[
            $(MethodInfo {
                name: $name,
                scope: Some(Scope::$scope),
                summary: $summary,
                errors: &[$($($error),+)?],
                params: typescript::<$params>,
                answer: Some(typescript::<$answer>),
            },)+
            $($(MethodInfo {
                name: concat!($prefix, $verb),
                scope: Some(Scope::Admin),
                summary: $does,
                errors: &[$($($fails),+)?],
                params: typescript::<$command>,
                answer: Some(typescript::<$state>),
            },)+)+
        ];

        /// Every notification of the bridge.
        pub const NOTIFICATIONS: &[MethodInfo] = &[
            $(MethodInfo {
                name: $event_name,
                scope: None,
                summary: $event_summary,
                errors: &[],
                params: typescript::<$event_params>,
                answer: None,
            },)+
        ];
    };
}

/// Reads a command whose variant is `verb` and whose fields are `params`.
fn read_command<C: DeserializeOwned>(verb: &str, params: Value) -> Result<C, serde_json::Error> {
    // A variant without fields ignores its params.
    match serde_json::from_value(Value::from(verb)) {
        Ok(command) => Ok(command),
        Err(_) => serde_json::from_value(Value::Object([(verb.to_owned(), params)].into_iter().collect())),
    }
}

methods! {
    methods {
        "_openagents/explore" Prompt Explore(ExploreParams) -> ExploreResult:
            "Explores a folder in a new session, which the client then follows." [NO_FOLDER];
        "_openagents/attach" View Attach(AttachParams) -> AttachResult:
            "Follows a session: its updates are sent from `since` on." [NO_SESSION];
        "_openagents/detach" View Detach(SessionRef) -> Empty: "Stops following a session." [NO_SESSION];
        "_openagents/queue/remove" Prompt QueueRemove(RemoveQueued) -> Removed:
            "Removes a prompt that waits for the running turn." [NO_SESSION];
        "_openagents/queue/send_now" Prompt QueueSendNow(SendNow) -> Empty:
            "Gives the first prompt in the queue to the running turn if the agent can take it there; otherwise stops the turn. The others keep waiting." [NO_SESSION];
        "_openagents/images/read" View ImagesRead(ReadImage) -> ImageData: "Returns an image of a prompt." ["-32002: the session does not have the image"];
        "_openagents/files/find" Prompt FilesFind(FindFiles) -> FoundFiles:
            "Lists files of a session's folder whose path matches what a user types, best first." [NO_SESSION];
        "_openagents/update" View ReadUpdate(UpdateQuery) -> UpdatePage:
            "Returns a part of an update whose outputs were cut for transport." ["-32002: the update does not exist"];
        "_openagents/markdown" View RenderMarkdown(Markdown) -> Html: "Renders Markdown as safe HTML.";
        "_openagents/delegate" Prompt Delegate(DelegateParams) -> DelegateResult:
            "Starts an agent as a delegate of a session." [NO_SESSION];
        "_openagents/approvals/answer" Approve ApprovalsAnswer(AnswerApproval) -> openagents_core::approval::Approval:
            "Answers an approval. The first answer counts." [NO_APPROVAL];
        "_openagents/approvals/resume" Prompt ApprovalsResume(ResumeApproval) -> Empty:
            "Resumes the agent whose approval was withdrawn when it ended." [NO_APPROVAL];
        "_openagents/approvals/ask_before_edits" Prompt ApprovalsAskBeforeEdits(AskBeforeEdits) -> Empty:
            "Asks again before an agent's edits, which were allowed until its turn ends." [NO_SESSION];
        "_openagents/subagents/stop" Prompt SubagentsStop(StopSubagent) -> Empty:
            "Stops one sub-agent of the agent at work. Its end comes as an update." [NO_SESSION, "-32602: the agent cannot stop it by itself"];
        "_openagents/approvals/rules" Approve ApprovalsRules(Empty) -> StandingRules:
            "Lists the commands that are always allowed.";
        "_openagents/approvals/revoke" Approve ApprovalsRevoke(RevokeRules) -> Empty: "Revokes one standing rule, or all of them.";
        "_openagents/workspaces" View Workspaces(Empty) -> WorkspacesResult: "Lists the known folders.";
        "_openagents/workspaces/suggest" Admin WorkspacesSuggest(FolderQuery) -> SuggestedFolders:
            "Suggests where a folder that no longer exists may be now." [ONLY_HERE];
        "_openagents/workspaces/map" Admin WorkspacesMap(MapFolder) -> HistorySnapshot:
            "Takes a folder and everything below it for another one, where it was moved." [ONLY_HERE];
        "_openagents/sessions/search" View SessionsSearch(SearchSessions) -> SearchResults:
            "Searches the sessions of other agents." [NO_HISTORY];
        "_openagents/sessions/label" Prompt SessionsLabel(LabelSession) -> Empty:
            "Renames, pins or archives a session." [NO_SESSION];
        "_openagents/sessions/excerpt" View SessionsExcerpt(ExcerptQuery) -> Excerpt:
            "Returns the conversation of a session as text, to name it in a prompt." [NO_SESSION, NO_HISTORY, NO_PAST_SESSION];
        "_openagents/history/list" View HistoryList(ListHistory) -> HistoryPage:
            "Lists the sessions of other agents." [NO_HISTORY];
        "_openagents/history/read" View HistoryRead(ReadHistory) -> PastPart:
            "Returns a part of another agent's session as updates." [NO_HISTORY, NO_PAST_SESSION];
        "_openagents/history/line" View HistoryLine(ReadLine) -> LineText:
            "Returns a raw line of the log of another agent's session." [NO_HISTORY, NO_PAST_SESSION];
        "_openagents/history/find" View HistoryFind(FindLines) -> PastLines:
            "Returns the lines of another agent's session that contain a text." [NO_HISTORY, NO_PAST_SESSION];
        "_openagents/history/watch" View HistoryWatch(Empty) -> Empty:
            "Sends later changes in the list of other agents' sessions as `_openagents/history/changed`." [NO_HISTORY];
        "_openagents/history/settings" View HistorySettings(Watch) -> HistorySnapshot:
            "Returns the settings of other agents' sessions, and the progress of their index.";
        "_openagents/history/configure" Admin HistoryConfigure(HistoryChange) -> HistorySnapshot:
            "Changes the settings of other agents' sessions. When it returns, the index has dropped everything that is excluded.";
        "_openagents/history/clear" Admin HistoryClear(Empty) -> HistorySnapshot:
            "Deletes the index of other agents' sessions. It is built again if it is switched on.";
        "_openagents/keep/status" View KeepStatus(Watch) -> KeepSnapshot:
            "Returns whether other agents' sessions are kept, and what of them.";
        "_openagents/keep/configure" Admin KeepConfigure(KeepChange) -> KeepSnapshot:
            "Changes the settings of kept copies." [ONLY_HERE];
        "_openagents/keep/verify" Admin KeepVerify(Empty) -> VerifiedCopies:
            "Compares all kept copies with their checksums.";
        "_openagents/keep/forget" Admin KeepForget(ForgetCopies) -> ForgottenCopies:
            "Deletes kept copies without a trace. A session whose log exists is kept again." [ONLY_HERE];
        "_openagents/keep/restore" Admin KeepRestore(RestoreCopy) -> RestoredFiles:
            "Writes a kept session to a folder, or to where its agent finds it again. Nothing is overwritten." [ONLY_HERE, NO_PAST_SESSION];
        "_openagents/keep/versions" View KeepVersions(SessionName) -> CopyVersions:
            "Lists the versions of a kept session's log: its agent may have shortened it." [NO_HISTORY, NO_PAST_SESSION];
        "_openagents/live/list" View LiveList(Watch) -> LiveSnapshot:
            "Returns what the agents on this computer are doing, in terminals and editors; those that OpenAgents runs are its own sessions." [NO_HISTORY];
        "_openagents/usage/report" View UsageReport(UsageQuery) -> crate::usage::UsageReport:
            "Sums the tokens and costs of all agents' requests. Reads what is new in their logs first, for two seconds at most." [NO_HISTORY];
        "_openagents/export/prepare" View ExportPrepare(PrepareExport) -> PreparedExport:
            "Writes a session as a file, without its secrets. It is kept for ten minutes, and four at a time." [NO_HISTORY, NO_PAST_SESSION, NO_SESSION];
        "_openagents/export/read" View ExportRead(ReadExport) -> ExportPart:
            "Returns a part of a prepared file." ["-32002: the export has expired, after ten minutes or four newer ones"];
        "_openagents/continue/brief" Prompt ContinueBrief(BriefQuery) -> SessionBrief:
            "Writes what another agent needs to know to continue a session, each line with the line of the log that it quotes." [NO_HISTORY, NO_PAST_SESSION];
        "_openagents/trust/list" View TrustList(Watch) -> TrustSnapshot: "Lists the folders in which agents may start.";
        "_openagents/trust/add" Admin TrustAdd(WorkspacePath) -> TrustResult:
            "Trusts a folder. Only on the computer itself." ["-32000: the client is not on the computer itself, or the folder's agent settings have changed"];
        "_openagents/trust/revoke" Admin TrustRevoke(WorkspacePath) -> TrustSnapshot: "Ends the trust in a folder.";
        "_openagents/devices/list" Admin DevicesList(Watch) -> DevicesSnapshot:
            "Lists devices, requests for access and the network.";
        "_openagents/devices/audit" Admin DevicesAudit(AuditQuery) -> AuditPage: "Returns a page of the audit log.";
        "_openagents/devices/me" View DevicesMe(Empty) -> Access: "Returns what the client may do.";
        "_openagents/devices/leave" View DevicesLeave(Empty) -> Empty:
            "Unpairs the device that calls it." ["-32600: the client is not a paired device"];
        "_openagents/models/list" View ModelsList(Watch) -> ModelsSnapshot: "Lists the models of this computer.";
        "_openagents/agents/list" View AgentsList(Watch) -> AgentsSnapshot: "Lists the agents of this computer.";
        "_openagents/agents/login_screen" Admin AgentsLoginScreen(LoginScreenQuery) -> openagents_core::agent::LoginScreen:
            "Waits up to 10 s for a change of the terminal in which the user logs in to an agent." [NO_AGENT];
        "_openagents/agents/options" View AgentsOptions(AgentOptionsQuery) -> AgentOptions:
            "Returns the options that an agent is expected to offer in a new session: its last ones, with the values chosen last.";
        "_openagents/agents/sessions" Prompt AgentsSessions(AgentSessionsQuery) -> AgentSessions:
            "Lists the sessions that an agent keeps itself in a folder. Starts the agent." [NO_OWN_SESSIONS];
        "_openagents/agents/continue_session" Prompt AgentsContinueSession(ContinueSession) -> SessionRef:
            "Creates a session that continues one of the agent's own with its next prompt, or returns the one that does." [NO_OWN_SESSIONS];
        "_openagents/agents/delete_session" Admin AgentsDeleteSession(DeleteAgentSession) -> Empty:
            "Deletes a session that an agent keeps itself." [NO_OWN_SESSIONS];
        "_openagents/agents/decisions" View AgentsDecisions(Empty) -> Decisions:
            "Lists the last decisions about where prompts went.";
        "_openagents/privacy/list" View PrivacyList(Watch) -> PrivacySnapshot: "Lists what models and agents may read.";
        "_openagents/privacy/set" Admin PrivacySet(PrivacyChange) -> PrivacySnapshot: "Changes one switch of that table.";
        "_openagents/inspect" Admin Inspect(InspectParams) -> Frames:
            "Returns the newest frames of every connection, and sends all later ones.";
    }
    commands {
        "_openagents/devices/" Device(DeviceCommand) -> DevicesSnapshot {
            "pair": "Shows a new pairing code.";
            "stop_pairing": "Withdraws the pairing code, and declines the requests that used it.";
            "allow": "Allows a request." [ENDED];
            "decline": "Declines a request." [ENDED];
            "rename": "Renames a device." [NO_DEVICE];
            "scope": "Changes what a device may do." [NO_DEVICE];
            "revoke": "Removes a device, or the access of an iOS app. Its connections close." [NO_DEVICE];
            "network": "Changes the network switches.";
        }
        "_openagents/models/" Model(ModelCommand) -> ModelsSnapshot {
            "download": "Starts or resumes a download." [NO_MODEL, "-32000 (`licence`): its licence was not accepted"];
            "pause": "Pauses a download, and keeps the partial file." [NO_MODEL];
            "cancel": "Stops a download, and deletes the partial file." [NO_MODEL];
            "verify": "Verifies a file against its manifest." [NO_MODEL, REFUSED];
            "repair": "Downloads missing or damaged parts again." [NO_MODEL, REFUSED];
            "remove": "Deletes a model's files. One that was added from elsewhere is only removed from the list." [NO_MODEL];
            "add": "Adds a GGUF file without moving it." [REFUSED];
            "use": "Uses this model from now on." [NO_MODEL];
            "load": "Loads the model in use." [REFUSED];
            "unload": "Unloads it.";
            "configure": "Changes settings; absent ones stay unchanged." [REFUSED];
        }
        "_openagents/agents/" Agent(AgentCommand) -> AgentsSnapshot {
            "check": "Detects agents again, and starts each adapter once to read its capabilities.";
            "add": "Adds an agent, or changes the one with its id." [REFUSED];
            "remove": "Removes an added agent." [NO_AGENT];
            "configure": "Changes settings; absent ones stay unchanged." [REFUSED];
            "install": "Installs the package that the user agreed to. Continues in the background." [REFUSED];
            "stop_install": "Stops an installation.";
            "roll_back": "Uses the previously installed version again." [REFUSED];
            "uninstall": "Removes what was installed. The agent's own settings and sessions stay." [REFUSED];
            "log_in": "Starts the agent's own program for a login in a terminal; see `agents/login_screen`." [REFUSED];
            "login_type": "Types into that terminal." [NO_AGENT];
            "stop_login": "Ends that program.";
            "check_for_updates": "Fetches the newest list of packages from the network." [REFUSED];
        }
    }
    events {
        "_openagents/access" AccessChanged(Access): "What this client may do has changed.";
        "_openagents/activity" ActivityChanged(ActivityParams): "What the model of a session is doing. Not in the log.";
        "_openagents/agents" AgentsChanged(AgentsSnapshot): "After `agents/list` with `watch`.";
        "_openagents/detached" Detached(SessionRef): "The session is no longer followed, because the connection follows too many.";
        "_openagents/devices" DevicesChanged(DevicesSnapshot): "After `devices/list` with `watch`.";
        "_openagents/frame" FrameSeen(Frame): "After `inspect`.";
        "_openagents/history/changed" HistoryChanged(PastChanges): "After `history/watch`.";
        "_openagents/history/settings" HistorySettingsChanged(HistorySnapshot): "After `history/settings` with `watch`.";
        "_openagents/keep/status" KeepChanged(KeepSnapshot): "After `keep/status` with `watch`.";
        "_openagents/live/changed" LiveChanged(LiveSnapshot): "After `live/list` with `watch`.";
        "_openagents/models" ModelsChanged(ModelsSnapshot): "After `models/list` with `watch`.";
        "_openagents/privacy" PrivacyChanged(PrivacySnapshot): "After `privacy/list` with `watch`.";
        "_openagents/queue" QueueChanged(QueueParams): "The prompts that wait for the running turn.";
        "_openagents/sessions" SessionsChanged(SessionsParams): "After `session/list` with `watch`.";
        "_openagents/snapshot" SnapshotEnded(SnapshotParams): "The snapshot of a long log is complete.";
        "_openagents/trust" TrustChanged(TrustSnapshot): "After `trust/list` with `watch`.";
    }
}
