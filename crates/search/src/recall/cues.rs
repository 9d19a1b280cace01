//! Words that show which facts of the history a question asks for, in six languages. Data for [`super::question`].
//!
//! A cue only ranks facts; it never rejects a question. Entries are lower case, `*` matches any ending, and entries in
//! scripts without spaces match anywhere.

/// A kind of fact that a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Cue {
    Changed,
    Ran,
    Failed,
    /// Unfinished work.
    Open,
    Why,
    /// The latest time of an event.
    When,
    Last,
    Past,
    /// A session; every answer is one.
    Session,
    Build,
    Test,
}

/// Only history can answer.
pub(super) const CERTAIN: u8 = 2;
/// History is more likely than code.
pub(super) const LIKELY: u8 = 1;
/// Code is possible as well.
pub(super) const OPEN: u8 = 0;

/// Cues, their certainty, and their forms separated by `|`.
#[rustfmt::skip]
pub(super) const CUES: &[(Cue, u8, &str)] = &[
    (Cue::Past, CERTAIN, "\
        which session|what session|in which sessions|which sessions|which conversation|was i doing|\
        were we doing|was i working|were we working|did i work|did we work|welche session|\
        welche sitzung|welcher session|welcher sitzung|habe ich hier gemacht|haben wir hier gemacht|\
        woran habe ich|woran haben wir|qué sesión|cuál sesión|en qué sesión|estaba haciendo|\
        estábamos haciendo|quelle session|quelles sessions|étais-je en train|étions-nous en train|\
        どのセッション|何をしていた|何をやっていた|哪个会话|哪次会话|哪一次会话|做了什么"),
    (Cue::Past, LIKELY, "\
        did|left|have we|have i|has claude|has codex|haben wir|habe ich|hat claude|hat codex|hat wer|\
        hatten wir|quitamos|eliminamos|borramos|añadimos|agregamos|arreglamos|dejamos|dejó|hicimos|hizo|\
        hice|hemos|ha hecho|he hecho|avons-nous|a-t-on|a-t-il|avons|ai-je|on a|a fait|ました|ていた|\
        たの|た?|たか|た理由|たっけ|掉了|删了|加了|做了|了?|了什么|了哪些"),
    (Cue::Session, OPEN, "\
        session|sessions|sitzung|sitzungen|conversation|conversations|sesión|sesiones|セッション|会话"),
    (Cue::Last, CERTAIN, "\
        last session|last codex|last claude|latest session|previous session|most recent session|\
        did we last|did i last|last time|letzte session|letzte sitzung|letzten session|letzten sitzung|\
        letzte codex-session|letzte claude-session|letzten codex-session|letzten claude-session|\
        letztes mal|zuletzt|última sesión|sesión anterior|última vez|dernière session|\
        session précédente|dernière fois|前回|最後のセッション|最後に|直近のセッション|この前|上次|\
        上一次|最后一次|上一个会话|最近一次"),
    (Cue::Last, OPEN, "\
        last|latest|recently|most recently|letzte*|kürzlich|neulich|último|última|recientemente|dernier|\
        dernière|récemment|最近|最後|最后"),
    (Cue::Changed, LIKELY, "\
        geändert|angefasst|bearbeitet|umgebaut|cambió|cambiamos|cambiaste|modificó|modificamos|editó|\
        tocamos|tocó|変更した|変更され|変えた|触った|触れた|いじった|書き換えた|改了|改过|动过|修改了|\
        改动了"),
    (Cue::Changed, OPEN, "\
        change|changes|changed|edit|edits|edited|modify|modified|touch|touched|rewrite|rewrote|update|\
        updated|refactor|refactored|ändern|änderung*|bearbeiten|cambio*|cambiar|modificar|tocar|chang*|\
        modifi*|touché|変更|編集|修正|触|改|修改|编辑|改动"),
    (Cue::Ran, LIKELY, "\
        ausgeführt|laufen lassen|ejecutó|ejecutamos|corrió|lancé|実行した|実行し|运行了|执行了|跑了"),
    (Cue::Ran, OPEN, "\
        run|ran|execute|executed|command|commands|befehl|befehle|kommando*|ausführen|ejecutar|comando|\
        comandos|exécut*|commande|commandes|実行|コマンド|运行|执行|命令"),
    (Cue::Failed, LIKELY, "\
        broke|kaputt gemacht|kaputtgemacht|zerschossen|rompió|rompimos|falló|fallaron|a cassé|cassé|\
        échoué|壊した|壊れた|壊し|失敗した|落ちた|弄坏|搞坏|失败了|挂了"),
    (Cue::Failed, OPEN, "\
        broken|break|fail|fails|failed|failing|failure|failures|crash|crashed|kaputt|fehlgeschlagen|\
        scheiter*|gescheitert|fehlschlag*|roto|fallo|fallos|fallando|falla|échou*|失敗|エラー|失败|报错|\
        出错"),
    (Cue::Open, CERTAIN, "\
        open work|unfinished work|offene arbeit|trabajo pendiente|travail en cours|left open|left off|leave off|left unfinished|left to do|left undone|was left|offen geblieben|\
        offengeblieben|liegen geblieben|liegengeblieben|noch offen|quedó pendiente|quedó abierto|\
        quedaba pendiente|quedó sin|dejamos pendiente|en suspens|restait à faire|やり残し|残って|残った|\
        途中|没做完|没完成|剩下|遗留"),
    (Cue::Open, OPEN, "\
        open|unfinished|remaining|pending|todo|todos|offen|offene|unfertig|ausstehend*|pendiente|\
        pendientes|inachevé|à faire|未完了|残り|残タスク|未完成|待办"),
    (Cue::Why, OPEN, "\
        why|reason|reasons|how come|rationale|warum|wieso|weshalb|grund|gründe|por qué|motivo|razón|\
        pourquoi|raison|なぜ|どうして|理由|なんで|为什么|为何|原因|为啥"),
    (Cue::When, OPEN, "when|wann|cuándo|quand|いつ|什么时候|何时|几时|哪天"),
    (Cue::Build, OPEN, "\
        build|builds|compile|compilation|kompil*|compilación|compilar|ビルド|コンパイル|构建|编译"),
    (Cue::Test, OPEN, "test|tests|test suite|prueba|pruebas|テスト|测试"),
];

/// Names of agents in questions, in addition to those of [`openagents_transcripts::history::Provider::parse`].
pub(super) const AGENTS: &[(openagents_transcripts::history::Provider, &[&str])] = &[
    (
        openagents_transcripts::history::Provider::ClaudeCode,
        &["claude code", "claude-code", "claude", "クロード"],
    ),
    (openagents_transcripts::history::Provider::Codex, &["codex", "コーデックス"]),
];

/// Prefixes of build commands, separated by `|`.
pub(super) const BUILDS: &str = "\
    cargo build|cargo check|cargo clippy|cargo run|make|cmake|ninja|npm run build|pnpm build|\
    pnpm run build|yarn build|yarn run build|bun run build|vite build|tsc|npx tsc|go build|gradle|\
    ./gradlew|mvn|xcodebuild|swift build|dotnet build|bazel build|docker build";

/// Prefixes of test commands, separated by `|`.
pub(super) const TESTS: &str = "\
    cargo test|cargo nextest|make test|make check|npm test|npm run test|npx vitest|npx jest|\
    pnpm test|pnpm run test|yarn test|bun test|vitest|jest|pytest|python -m pytest|tox|go test|\
    ./gradlew test|gradle test|mvn test|swift test|dotnet test|bazel test|ctest|rspec|\
    bundle exec rspec|phpunit|npx playwright";

/// Words that introduce a reason, separated by `|`.
pub(super) const REASONS: &str = "\
    because|since |so that|instead of|no longer|not needed|the reason|in order to|overkill|too slow|\
    too much|too many|weil |damit | statt |anstatt|deshalb|nicht mehr|der grund|porque|ya que|\
    en lugar de|en vez de|el motivo|ya no |parce que|afin de|au lieu| car |ので|ため|理由|代わり|\
    不要|因为|由于|所以|代替|不再";
