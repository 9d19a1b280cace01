//! Recognises what a newcomer asks about a project as a whole: how to build it, how to run its tests, where it starts.
//! A few words of six languages decide, not grammar.

use openagents_core::{
    terms::{self, Language},
    text::is_listed,
};
use regex::Regex;
use std::{collections::BTreeSet, sync::LazyLock};

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Topic {
    /// The purpose of the project.
    What,
    /// The language, and the version that is needed.
    Language,
    Size,
    /// Setting up, installing from source, building.
    Build,
    Test,
    /// Running some of the tests.
    TestOne,
    /// Linting and formatting.
    Lint,
    Run,
    /// Where execution starts, or the public entry of a library.
    Entry,
    /// What a folder or file is for.
    Layout,
    /// What most files depend on.
    Central,
    Configuration,
    /// Where a new part of a kind is added.
    Extend,
    Documentation,
    Ci,
    Release,
    Licence,
    Dependencies,
    /// The last commits.
    Changes,
    /// Who works where.
    People,
    /// What is not finished.
    Next,
}

/// A recognised question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    pub(super) topic: Topic,
    /// Words of the question in English that are neither of the topic nor common.
    pub(super) others: Vec<String>,
    /// Stems of all words of the question in English that say what is sought, those of the topic too.
    pub(super) words: Vec<String>,
}

impl Asked {
    pub(super) fn about(topic: Topic) -> Self {
        Self { topic, others: Vec::new(), words: Vec::new() }
    }
}

/// The vocabulary of a topic. Words are stems and separated by `|`.
pub(super) struct Profile {
    pub(super) topic: Topic,
    /// Words that make a question one about the topic; `classify` adds what some topics need besides.
    asks: &'static str,
    /// Words that also belong to it, in questions and in headings.
    pub(super) near: &'static str,
    /// A command that does it.
    pub(super) command: &'static str,
}

/// In the order of precedence: a question about one test is also one about tests.
pub(super) const PROFILES: &[Profile] = &[
    Profile {
        topic: Topic::Licence,
        asks: "licens|licenc|copyright",
        near: "term|commerci|open|sourc|legal|redistribut|appli|hold|publish|distribut",
        command: "",
    },
    Profile {
        topic: Topic::Ci,
        asks: "ci|workflow|pipelin|jenkin|travi",
        near: "continu|integr|github|action|check|automat|system|platform|matrix|job",
        command: "",
    },
    Profile {
        topic: Topic::Size,
        asks: "larg|big|size|line|loc|much",
        near: "mani|code|file|how|repositori|sourc|librari|without|test|exampl|much|count",
        command: "",
    },
    Profile {
        topic: Topic::Central,
        asks: "import|depend|includ|build|use|need|reli|central|core|rest",
        near: "most|other|modul|file|everyth|everi|all|near|nearli|shar|often|header|class|packag|code|almost|half",
        command: "",
    },
    Profile {
        topic: Topic::Dependencies,
        asks: "depend|librari|packag|requir",
        near: "need|run|extern|third|parti|use|other|reli|itself",
        command: "",
    },
    Profile {
        topic: Topic::Release,
        asks: "releas|version|publish|changelog",
        near: "which|number|new|made|cut|tag|ship|deploy|current|how|step|written|down|chang",
        command: r"\b(?:release|publish|version|tag|goreleaser|twine|deploy)\b",
    },
    Profile {
        topic: Topic::Documentation,
        asks: "document|doc|manual|guid|changelog|wiki|readm",
        near: "written|describ|change|user|where|written|site|build|page|find|read",
        command: r"\b(?:docs?|sphinx|mkdocs|mdbook|typedoc|javadoc|rustdoc)\b",
    },
    Profile {
        topic: Topic::Lint,
        asks: "lint|linter|style|format|formatt|static|analysi|typecheck",
        near: "check|tool|code|command|conform|guidelin|pre|commit|fit|one|own",
        command: r"\b(?:fmt|format|lint|clippy|eslint|prettier|black|flake8|ruff|rubocop|gofmt|golangci|phpstan|cs-fixer|phpcs|pre-commit|standard|clang-format|checkstyle|spotless|ktlint|biome|isort|mypy|pylint|style)\b",
    },
    Profile {
        topic: Topic::TestOne,
        asks: "test|spec",
        near: "singl|one|onli|specif|particular|certain|modul|file|subset|select|just|unit|runner|run|case|command",
        command: r"(?:^|[\s:/_])(?:tests?|specs?)(?:$|[\s:;,)\]'.])|pytest|rspec|phpunit|ctest|jest|vitest|mocha|\btap\b|\btox\b|_test\b",
    },
    Profile {
        topic: Topic::Test,
        asks: "test|spec",
        near: "run|suit|all|unit|integr|execut|whole|local|everi",
        command: r"(?:^|[\s:/_])(?:tests?|specs?|check|verify)(?:$|[\s:;,)\]'.])|pytest|rspec|phpunit|ctest|jest|vitest|mocha|\btap\b|\btox\b|nox|gotestsum|_test\b",
    },
    Profile {
        topic: Topic::Build,
        asks: "build|built|compil|instal|setup|set|bundl|edit|sourc|environ|checkout|clone",
        near: "develop|local|work|tarbal|from|binari|machin|get|start|prepar|contribut|need",
        command: r"\b(?:build|install|compile|configure|make|bundle|setup|develop|sync|(?:npm|pnpm|yarn) ci|bootstrap|cmake|ninja|assemble|package)\b",
    },
    Profile {
        topic: Topic::Entry,
        asks: "start|entri|main|begin|call|execut|invok|launch|boot|expos|public|export|first",
        near: "program|function|command|shell|type|first|point|file|librari|where|api|class|object|creat|user|take|over|load|\
            requir|import|packag|gem|crate",
        command: "",
    },
    Profile {
        topic: Topic::Configuration,
        asks: "option|configur|setting|flag|default|environ|paramet|prefer",
        near: "defin|declar|where|read|list|set|valu|variabl|command|line",
        command: "",
    },
    Profile {
        topic: Topic::Extend,
        asks: "add|new|extend|regist|implement|plugin|contribut|support|write|declar",
        near: "where|how|own|anoth|kind|custom|creat|would|put|hook",
        command: "",
    },
    Profile {
        topic: Topic::Layout,
        asks: "folder|directori|kept|keep|live|layout|organ|organis|structur|divid|divis|depart|insid|contain|place|architectur|where|crate|packag|modul|file",
        near: "what|which|code|implement|part|go|put|sourc|find|hold|for",
        command: "",
    },
    Profile {
        topic: Topic::Run,
        asks: "run|start|launch|serv",
        near: "local|app|server|develop|mode|how",
        command: r"\b(?:run|start|serve|dev|watch|up)\b",
    },
];

/// Words of any question about a project.
const COMMON: &str = "\
    i|do|doe|how|what|which|where|who|when|is|are|can|could|should|would|it|its|this|the|a|an|to|in|on|of|for|from|with|and|or|\
    my|your|me|we|you|be|if|want|need|use|project|repo|repositori|codebas|code|program|tool|app|applic|command|thing|here|there|that|\
    have|has|get|onli|all|some|ani|by|at|as|them|they|one|so|just|make|sure|way|best|work|befor|after|into|will|which|file|kind|call|\
    run|first|need|type|most|other|see|find|show|tell|give|explain|describ|pleas|not|no|up|out|about|exist|like|own|time|current|besid|\
    between|among|somebodi|someon|anybodi";

/// A question about the language has a word of each.
const VERSION_WORDS: &str = "version|need|requir|support|minimum|written|languag|standard";
const LANGUAGE_WORDS: &str =
    "python|rust|node|java|php|go|rubi|gcc|c|jdk|compil|languag|typescript|perl|swift|kotlin";

/// Words of any question that never name its subject.
const QUESTION_WORDS: &str = "\
    i|do|doe|how|what|which|where|who|when|is|are|can|could|should|would|it|its|this|the|a|an|to|in|on|of|for|from|with|and|or|\
    my|your|me|we|you|be|if|want|need|use|project|repo|repositori|codebas|here|there|that|each|\
    have|has|get|onli|all|some|ani|by|at|as|them|they|one|so|just|make|sure|way|best|befor|after|into|will|most|near|nearli|\
    other|see|find|show|tell|give|explain|pleas|not|no|up|out|about|exist|like|own|everi|add|new|extend|creat|wrote|level|top";

/// Words that ask for a place and say nothing about what is there.
const PLACE_WORDS: &str = "\
    folder|directori|kept|keep|live|insid|contain|place|part|go|put|hold|holds|sourc|defin|declar|written|write|implement|locat|list|\
    read|enter|set|besid|itself|want|would|file|modul|packag|code|differ|kind|divid|sort|organ|organis|structur";

/// "What is this?" and similar questions in six languages.
static PURPOSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let generic = r"(?:project|repo|repository|codebase|framework|library|package|program|command|tool|app|application|crate|code|software|module|gem|server|thing)";
    Regex::new(&[
        &format!(r"^what(?:'s|’s| is| does| do| are)? (?:this|it|the {generic}|these)(?: {generic})?(?: do| for| about| used for| good for| all about)?$"),
        r"(?:purpose|overview|summary|idea|point) of (?:this|the|it)|(?:explain|describe|introduce|summari[sz]e) (?:me |to me )?(?:this|the|it)(?: \w+)?$",
        r"(?:wofür|wozu) (?:ist|dient|brauche|braucht) (?:man )?(?:dies|das|es\b)|was (?:macht|tut|ist) (?:das|dies|diese|dieses|dieser|diesem)\b|worum geht",
        r"para qué (?:sirve|es) (?:est[eao]|el proyecto|la biblioteca)|qu[eé] (?:hace|es) (?:est[eao]|el proyecto|el programa|la biblioteca)",
        r"que fait (?:ce|cet|cette)|à quoi sert (?:ce|cet|cette)|qu['’]est-ce que (?:c|ce|cet|cette)",
        r"何のため|何をする|これは何|とは何|なんのため|何ですか$|何に使",
        r"(?:是|做|干|幹)什[么麼](?:的|用的)?$|是做什[么麼]|有什[么麼]用|用途",
    ].join("|")).ok()
});

/// Maximum words of a title that is not a question, such as "build instructions".
const SHORT: usize = 3;
/// Characters that the topic and the grammar of a question take in a language without spaces, and those of each further
/// word.
const UNSPACED: usize = 20;
const UNSPACED_WORD: usize = 5;

/// Bytes of a word that may be another one with the same beginning.
const SHORT_FORM: usize = 5;

/// How a question or a wish begins; a title such as "Add a field" does not.
static QUESTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:and |in |to |with |under |for |on )?(?:(?:what|which|where|how|who|why|when|is|are|does|do|can|could|should|i)\b|wie|wo|was|welche|womit|worin|unter|wer |kann|ich |cómo|qué|dónde|cuál|con qué|quién|comment|où|quel|qui|est-ce)").ok()
});

/// A question about what to do: "How do I …", not "How does …".
static NEWCOMER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:how|where|what|which \w+) (?:do|can|should|would|must|could) (?:i|we|you|one)\b|\bi (?:want|need|would)|\bhow to\b|\bwie \w+ (?:und \w+ )?(?:ich|man)\b|\b(?:kann|muss|soll) (?:ich|man)\b|\bich (?:möchte|will|muss)\b|\bcómo (?:puedo|se|\w+o)\b|comment (?:puis|faire|je)|方法|には$|どうやって|怎么|怎样|如何").ok()
});

/// "Which library does the parsing?"
static WHICH_LIBRARY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:which|what) (?:external |third.party )?(?:library|libraries|dependency|dependencies|gems?|packages?|crates?) (?:do|does|is used|are used|handles?|provides?|\w+s the )|^welche (?:pakete|bibliotheken|bibliothek) |^qué (?:bibliotecas?|dependencias?|gemas?) ").ok()
});

/// Maximum words that say what a library does.
const LIBRARY_WORDS: usize = 6;

/// "Which file holds the routes?"
static WHICH_FILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?:in(?:to)? )?(?:which|what) (?:file|folder|director|module|package|crate)|^(?:in )?welche[rms]? (?:datei|ordner|verzeichnis|modul)|^(?:en )?qué (?:archivo|fichero|carpeta|directorio|módulo)|どのファイル|どのフォルダ|哪个文件|哪個文件|哪个目录").ok()
});

/// A wish for a short answer, which says nothing about the subject.
static IN_SHORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r",? (?:in|with) (?:one|a|a single|two|a few|short) ?(?:line|lines|sentence|sentences|word|words)?$|,? (?:briefly|in brief|please|bitte|por favor)$").ok()
});

/// Words of other languages, with the English word of the vocabulary above. A trailing `*` matches any ending.
const FOREIGN: &[(&str, &str)] = &[
    // German
    ("bau*|kompilier*|übersetz*", "build"),
    ("install*|einricht*", "install"),
    ("test*|prüf*", "test"),
    ("einzel*|nur", "single"),
    ("formatier*|stil*|codestil", "format"),
    ("start*|beginn*|einstieg*|aufgerufen|aufruf*", "start"),
    ("hinzufüg*|füge|ergänz*|erweiter*|neu*", "add"),
    ("option*|einstell*|konfigur*", "option"),
    ("abhäng*|bibliothek*|pakete", "depend"),
    ("version*|freigabe*|veröffentlich*", "release"),
    ("lizenz*", "licens"),
    ("ordner*|verzeichnis*|liegt|liegen", "folder"),
    ("dokument*|handbuch", "document"),
    ("größe|groß|zeilen", "size"),
    ("meisten", "most"),
    ("deklarier*|definier*", "declar"),
    ("ausführ*|führe|führt|laufen|starte", "run"),
    ("fange|fängt|fangen|anfang*", "start"),
    ("erste", "first"),
    ("klasse*", "class"),
    ("datei|dateien", "file"),
    ("specs", "test"),
    ("schreib*|geschrieben", "written"),
    ("standardwert*|vorgabe*|voreinstellung*", "default"),
    ("aufgeteilt|gegliedert|aufbau", "divid"),
    // Spanish
    ("compil*|constru*", "build"),
    ("instal*", "install"),
    ("prueba*|tests", "test"),
    ("sola|solo|única", "single"),
    ("formato|estilo", "format"),
    ("empieza|inicia|arranca|comienza|entrada", "start"),
    ("añad*|agreg*|nuev*|registr*", "add"),
    ("opcion*|configur*|ajustes", "option"),
    ("depend*|bibliotec*|paquetes", "depend"),
    ("versión|version*|public*|lanz*", "release"),
    ("licencia", "licens"),
    ("carpeta*|directorio*", "folder"),
    ("documenta*|manual", "document"),
    ("tamaño|líneas", "size"),
    ("mayoría", "most"),
    ("corro|ejecut*", "run"),
    ("primero|primera", "first"),
    ("clase*", "class"),
    ("archivo*|fichero*", "file"),
    ("export*|públic*", "public"),
    ("función|funciones", "function"),
    ("defecto|predetermin*", "default"),
    ("reparte|divide*|organiz*", "divid"),
    ("gema|gemas", "depend"),
    // French
    ("construi*|compiler", "build"),
    ("installer", "install"),
    ("tests|essais", "test"),
    ("démarre|commence|entrée", "start"),
    ("ajouter|nouveau*", "add"),
    ("dossier*|répertoire*", "folder"),
    ("licence", "licens"),
    // Japanese and Chinese
    ("ビルド|コンパイル|构建|編譯|编译|打包", "build"),
    ("インストール|安装|安裝|セットアップ", "install"),
    ("テスト|测试|測試", "test"),
    ("一つだけ|単体|单个|單個|只运行|だけ", "single"),
    ("整形|フォーマット|スタイル|格式|风格|代码规范|lint", "format"),
    ("起動|開始|始まり|始まる|エントリ|入口|启动|開始|开始|从哪里", "start"),
    ("追加|新しい|添加|新增|增加|新的", "add"),
    ("オプション|設定|选项|配置|選項|设置", "option"),
    ("依存|ライブラリ|依赖|依賴", "depend"),
    ("リリース|バージョン|版本|发布|發佈", "release"),
    ("ライセンス|许可|許可|授权", "licens"),
    ("フォルダ|ディレクトリ|目录|目錄|文件夹", "folder"),
    ("ドキュメント|文档|文檔|手册", "document"),
    ("何行|大きさ|多少行|规模|多大", "size"),
    ("ほとんど|大多数|最多", "most"),
    ("実行|运行|執行|运行", "run"),
];

/// Whole questions about the work on a project, in six languages.
const WORK: &[(Topic, &str)] = &[
    (
        Topic::Next,
        r"what (?:should|can|could|do) (?:i|we) (?:do|work on|tackle|start with)(?: next)?$|what(?:'s| is) next$|what (?:is|was|'s) (?:still |left )*(?:open|unfinished|left to do|left)$|open ends|where did (?:i|we) (?:leave|stop)|(?:was|woran) (?:soll|kann) ich als nächstes|was ist (?:noch )?offen|qué (?:debería|puedo) hacer (?:ahora|después)|qué queda (?:pendiente|abierto)|que (?:devrais|dois)-je faire|que reste-t-il|次に何を|接下来.*做什么|下一步",
    ),
    (
        Topic::People,
        r"^who (?:knows|wrote|writes|changed|changes|works on|worked on|maintains|owns|touched)\b|^wer (?:kennt|schrieb|hat|arbeitet|pflegt)\b|^quién (?:conoce|escribió|mantiene|cambió)|^qui (?:connaît|a écrit|maintient|a changé)|誰が.*(?:詳しい|書いた|変更)|谁.*(?:熟悉|写的|维护|修改)",
    ),
    (
        Topic::Changes,
        r"^what (?:has |was |is )?(?:changed|new)(?: here| in (?:this|the) (?:project|repository|repo|code))?(?: lately| recently| last| since .*)?$|(?:recent|last|latest) (?:changes|commits)$|was hat sich (?:zuletzt |kürzlich )?geändert|letzte (?:änderungen|commits)|qué ha cambiado|últimos (?:cambios|commits)|qu'est-ce qui a changé|derniers (?:changements|commits)|最近の変更|最近(?:有什么)?(?:改动|变化|修改)",
    ),
];
static WORK_PATTERNS: LazyLock<Vec<(Topic, Regex)>> = LazyLock::new(|| {
    WORK.iter().filter_map(|(topic, pattern)| Some((*topic, Regex::new(pattern).ok()?))).collect()
});

/// Returns what a question about the project asks; `None` for a question that is, or may be, about its code.
pub(super) fn classify(question: &str) -> Option<Asked> {
    let plain = question
        .trim()
        .trim_end_matches(['?', '？', '.', '。', '!', ' '])
        .trim_start_matches(['¿', '¡'])
        .to_lowercase();
    let plain = IN_SHORT.as_ref().map_or(plain.clone(), |short| short.replace(&plain, "").into_owned());
    if let Some((topic, _)) = WORK_PATTERNS.iter().find(|(_, pattern)| pattern.is_match(&plain)) {
        return Some(Asked::about(*topic));
    }
    let language = Language::detect(question);
    let Spoken { words, names, unknown } = english(&plain, language);
    let has = |list: &str| words.iter().any(|word| is_listed(word, list));
    let by_newcomer = NEWCOMER.as_ref().is_some_and(|newcomer| newcomer.is_match(&plain));
    let purpose = PURPOSE.as_ref().is_some_and(|purpose| purpose.is_match(&plain));
    let is_of_a_part =
        has("folder|directori|file|modul|packag|crate|class") && (has_name(&words) || !names.is_empty());
    let unlisted = words.iter().filter(|word| !is_listed(word, COMMON)).count();
    // Of other languages, not every common word is known.
    let allowed = if language == Language::English { 1 } else { 3 };
    let is_short = !language.is_unspaced() || plain.chars().count() <= UNSPACED;
    if purpose && !is_of_a_part && names.is_empty() && unlisted + unknown <= allowed && is_short {
        return Some(Asked::about(Topic::What));
    }
    let is_question = question.contains(['?', '？'])
        || language.is_unspaced()
        || words.len() <= SHORT
        || QUESTION.as_ref().is_some_and(|begins| begins.is_match(&plain));
    if !is_question {
        return None;
    }
    let is_of_project = by_newcomer
        || has("ci|project|repo|repositori|codebas|program|framework|librari|app|applic|tool|it|this|here");
    let asks_version = || words.iter().any(|word| word != "languag" && is_listed(word, VERSION_WORDS));
    if !has("ci|workflow|pipelin|add|new|extend") && has(LANGUAGE_WORDS) && (asks_version() || has("languag"))
    {
        let is_other = |word: &&String| {
            ![COMMON, VERSION_WORDS, LANGUAGE_WORDS, "releas|latest"].iter().any(|list| is_listed(word, list))
        };
        let others: Vec<String> = words.iter().filter(is_other).cloned().collect();
        let most = match is_of_project {
            true => 3,
            false => usize::from(has("version")),
        };
        return (others.len() <= most).then(|| Asked { others, ..Asked::about(Topic::Language) });
    }
    // A place, not a command.
    let asks_where =
        !by_newcomer && ["where ", "wo ", "dónde ", "où "].iter().any(|start| plain.starts_with(start));
    let asks_for_file = WHICH_FILE.as_ref().is_some_and(|which| which.is_match(&plain));
    let asks_for_library = WHICH_LIBRARY.as_ref().is_some_and(|which| which.is_match(&plain));
    let matches = |profile: &&Profile| match profile.topic {
        Topic::TestOne => {
            has(profile.asks)
                && has("singl|one|onli|specif|particular|certain|subset|just")
                && has("run|execut|how|command|start")
        }
        // "How do I set a timeout?" and "How do I edit a row?" are not about building.
        Topic::Build => {
            !asks_where
                && (has("build|built|compil|instal|setup|bundl|checkout|clone")
                    || plain.contains("set up")
                    || has("environ|sourc|edit") && has("develop|work|contribut|local"))
        }
        Topic::Run => has(profile.asks) && !asks_where,
        // "How are unknown options reported?" is about the code.
        Topic::Configuration => {
            has(profile.asks)
                && !["how are ", "how is ", "how does "].iter().any(|start| plain.starts_with(start))
        }
        Topic::Test => {
            has(profile.asks) && !asks_where && (has("run|execut|suit|all|everi") || words.len() <= 4)
        }
        Topic::Central => {
            has("most|everyth|everi|nearli|near|almost|central|core|rest|heart")
                && has("import|depend|includ|build|requir|reli|rest|central|core|use")
                && has("file|modul|class|header|packag|folder|part|crate|compon|code|everyth")
                && !has("test|option|command|instal")
        }
        Topic::Documentation => {
            has("document|doc|manual|guid|wiki|readm|handbook|changelog")
                || has("describ|explain|written")
                    && has("where")
                    && has("format|protocol|design|chang|architectur|api|how")
        }
        Topic::Layout => {
            let is_place =
                has("folder|directori|layout|organ|organis|structur|architectur|divid|divis|depart");
            let is_file = has("file|modul|crate|packag|compon|part") && has("which|what|how");
            (is_place || is_file) && !has("instal|releas")
        }
        Topic::Extend => {
            has(profile.asks)
                && has("where|how|add|new|own|anoth")
                && has("add|new|extend|regist|plugin|own|anoth|custom")
        }
        Topic::Size => {
            has("larg|big|size|line|loc|much")
                && has("how|mani|size|larg|big")
                && has("code|librari|project|file|line|big|larg|sourc|it|repositori")
                && !has("command")
        }
        Topic::Dependencies => {
            asks_for_library
                || has("depend|librari|packag|requir")
                    && has("need|depend|requir|extern|reli|third")
                    && !has("instal|where|add")
        }
        Topic::Release => {
            has("releas|publish")
                && has("how|which|what|where|made|new|cut|step|releas")
                && !has("build|built|compil|instal")
                || has("version") && has("current|latest|number|what|this|new|project")
        }
        Topic::Entry => {
            let asks_for_first = has(profile.asks)
                && has(
                    "program|function|command|shell|type|first|point|where|librari|main|entri|class|object|creat|start",
                )
                && !has("new|add|own|test");
            let asks_for_loaded = has("load|requir|import")
                && has("file|first")
                && has("packag|librari|gem|crate")
                && !has("most|other|everi|test");
            asks_for_first || asks_for_loaded
        }
        Topic::Lint => {
            has("lint|linter|formatt|analysi|typecheck")
                || has("style|format")
                    && has("error|fix|check|code|command|run|tool|conform|sourc|own|fit|guidelin|test|chang")
        }
        _ => has(profile.asks),
    };
    let others = |profile: &Profile| -> Vec<String> {
        let is_other = |word: &&String| {
            !is_listed(word, COMMON) && !is_listed(word, profile.asks) && !is_listed(word, profile.near)
        };
        let others: BTreeSet<String> = words.iter().filter(is_other).cloned().collect();
        others.into_iter().collect()
    };
    // An unknown word of another language may be a verb; two are more likely a subject.
    let unrelated = |others: &[String]| others.len() + unknown.saturating_sub(1);
    let (profile, others) = PROFILES.iter().filter(matches).find_map(|profile| {
        let may_name = names.is_empty() || profile.may_have_names();
        let others = others(profile);
        let asks_for_library = profile.topic == Topic::Dependencies && asks_for_library;
        let most = match asks_for_library {
            true => LIBRARY_WORDS,
            false => profile.unrelated_words(by_newcomer, is_of_project, asks_for_file),
        };
        (may_name && unrelated(&others) <= most).then_some((profile, others))
    })?;
    let is_subject = |word: &&String| !is_listed(word, QUESTION_WORDS) && !is_listed(word, PLACE_WORDS);
    let words = words.iter().chain(&names).filter(is_subject).cloned().collect();
    Some(Asked { topic: profile.topic, others, words })
}

impl Profile {
    /// Returns how many unrelated words a question about the topic may have. With more, it is about a part of the code:
    /// "Where is the timeout set?"
    fn unrelated_words(&self, by_newcomer: bool, is_of_project: bool, asks_for_file: bool) -> usize {
        match self.topic {
            Topic::Layout if asks_for_file => 6,
            Topic::Layout | Topic::Extend | Topic::Documentation | Topic::Central => 3,
            Topic::Configuration => 2,
            Topic::Ci | Topic::Licence | Topic::Size | Topic::Release if is_of_project => 4,
            _ if by_newcomer => 4,
            _ if is_of_project => 2,
            _ => 0,
        }
    }

    /// Returns whether a question about the topic may name a file or a part of the code.
    fn may_have_names(&self) -> bool {
        matches!(
            self.topic,
            Topic::Layout | Topic::Extend | Topic::Configuration | Topic::Documentation | Topic::TestOne
        )
    }

    /// Returns the words that a question about the topic has.
    pub(super) fn asks(&self) -> impl Iterator<Item = &'static str> {
        self.asks.split('|')
    }
}

pub(super) fn profile(topic: Topic) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.topic == topic)
}

/// Returns whether a question names something: a word that is not of any question.
fn has_name(words: &[String]) -> bool {
    let is_name = |word: &String| {
        !is_listed(word, COMMON) && !is_listed(word, PLACE_WORDS) && !is_listed(word, "crate|class|librari")
    };
    words.iter().any(is_name)
}

/// The words of a question in English, as stems.
#[derive(Debug, Default)]
struct Spoken {
    words: Vec<String>,
    /// The parts of names of files and of code.
    names: Vec<String>,
    /// Words that have no translation.
    unknown: usize,
}

fn english(plain: &str, language: Language) -> Spoken {
    let mut words = Vec::new();
    let mut unknown = 0;
    if language.is_unspaced() {
        for (forms, word) in FOREIGN {
            words.extend(
                forms
                    .split('|')
                    .filter(|form| !form.is_ascii() && plain.contains(form))
                    .map(|_| (*word).to_owned())
                    .take(1),
            );
        }
        let known = terms::translations_within(plain, language).into_iter();
        words.extend(known.filter_map(|(_, english)| Some(Language::English.stem(english.first()?))));
        let names = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() > 1);
        words.extend(names.map(|word| Language::English.stem(word)));
        // Words are not separated, so the length says how many are unknown.
        let unknown = plain.chars().count().saturating_sub(UNSPACED) / UNSPACED_WORD;
        return Spoken { words, unknown, ..Spoken::default() };
    }
    // `build.ninja` and `test_name` are names, not words.
    let is_name = |word: &&str| word.trim_matches(|c: char| !c.is_alphanumeric()).contains(['.', '_', ':']);
    let names = plain.split_whitespace().filter(is_name);
    let parts = names.flat_map(terms::subwords).filter(|part| part.len() > 1);
    let names: Vec<String> = parts.map(|part| Language::English.stem(&part)).collect();
    let spoken = plain.split_whitespace().filter(|word| !is_name(word));
    let spoken = spoken.flat_map(|word| word.split(|c: char| !c.is_alphanumeric()));
    for word in spoken.filter(|word| !word.is_empty()) {
        if language == Language::English {
            words.push(Language::English.stem(word));
            continue;
        }
        let foreign = |is_form: &dyn Fn(&str) -> bool| {
            FOREIGN
                .iter()
                .find(|(forms, _)| forms.split('|').any(is_form))
                .map(|(_, known)| (*known).to_owned())
        };
        let begins = |form: &str| form.strip_suffix('*').is_some_and(|start| word.starts_with(start));
        let translated = || {
            let known = terms::translations(word, language).into_iter().next()?;
            Some(Language::English.stem(known.1.first()?))
        };
        // A longer word may be another one: "Baum" is not "bauen".
        let known = foreign(&|form| form == word)
            .or_else(|| foreign(&begins).filter(|_| word.len() > SHORT_FORM || translated().is_none()))
            .or_else(|| translated().filter(|_| !language.is_stop_word(word)));
        match known {
            Some(known) => words.push(known),
            None if language.is_stop_word(word) => {}
            None => unknown += 1,
        }
    }
    Spoken { words, names, unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomers_questions_have_a_topic() {
        for (question, expected) in [
            ("What is this framework for?", Topic::What),
            ("What does this command do?", Topic::What),
            ("Wofür ist dieses Framework da?", Topic::What),
            ("这个命令是做什么的？", Topic::What),
            ("Which Rust version is required?", Topic::Language),
            ("How do I build it for development?", Topic::Build),
            ("How do I run all the tests?", Topic::Test),
            ("¿Cómo corro los tests?", Topic::Test),
            ("How do I run the tests of one module only?", Topic::TestOne),
            ("Is the formatting checked, and with which command?", Topic::Lint),
            ("Where does the program start?", Topic::Entry),
            ("Wo startet das Programm?", Topic::Entry),
            ("What should I work on next?", Topic::Next),
            ("Was ist noch offen?", Topic::Next),
            ("Who knows src/net.rs?", Topic::People),
            ("What changed recently?", Topic::Changes),
            ("Show me the last commits", Topic::Changes),
            ("Which modules do most of the others import?", Topic::Central),
            ("Where are the command line options defined?", Topic::Configuration),
            ("What does CI run, and on which systems?", Topic::Ci),
            ("Which packages does it need to run?", Topic::Dependencies),
            ("Under which licence is it?", Topic::Licence),
            ("How do I build it from a release tarball?", Topic::Build),
            ("How do I add a language to the highlighting?", Topic::Extend),
            ("Which file is loaded when the package is imported?", Topic::Entry),
            ("Which gem parses the code?", Topic::Dependencies),
            ("Which file in lib handles routes, which hooks, which replies?", Topic::Layout),
            ("Wie formatiere und prüfe ich den Code vor einem Pull Request?", Topic::Lint),
            ("¿Dónde están los ajustes por defecto?", Topic::Configuration),
        ] {
            assert_eq!(classify(question).map(|asked| asked.topic), Some(expected), "{question}");
        }
    }

    #[test]
    fn question_for_the_purpose_is_recognised_in_each_language() {
        for question in [
            "What does this project do?",
            "what is this",
            "What’s this repo about?",
            "What is this crate for?",
            "Explain this codebase, please.",
            "Give me an overview of the repository.",
            "What is this library, in one line?",
            "Was macht dieses Projekt?",
            "Worum geht es in diesem Repository?",
            "¿Qué hace este proyecto?",
            "Que fait ce projet ?",
            "このプロジェクトは何ですか？",
            "这个项目是做什么的？",
            "這個項目是做什麼的？",
        ] {
            assert_eq!(classify(question).map(|asked| asked.topic), Some(Topic::What), "{question}");
        }
    }

    #[test]
    fn question_about_code_or_sessions_has_no_topic() {
        for question in [
            "",
            "?",
            "project",
            "Repository",
            "How does the proxy decide which certificate to reject?",
            "Where are redirects followed when the cookie jar is shared?",
            "Why does the scheduler starve low priority jobs?",
            "How is the Repository implemented?",
            "Where are projects stored?",
            "What did we do in this project?",
            "What was I working on in this project?",
            "What needs work in this repo?",
            "Was habe ich in diesem Projekt gemacht?",
            "Wo werden Projekte gespeichert?",
            "¿Qué he hecho en este proyecto?",
            "このプロジェクトで何をしていた？",
            "Which session left the tests failing?",
            "Add a protocol field to the socket",
            "Make the router faster to clone",
            "How is the language of a file guessed when its name ends in something like .bak?",
            "What does flush do?",
            "What is the retry budget for?",
            "What does `parse_rollout` do?",
            "Wofür wird der Mutex gebraucht?",
            "Which function calls parse_rollout?",
            "Where is the timeout set?",
            "How do I set a timeout for the connection?",
            "How do I edit a row?",
            "How are unknown options reported?",
            "Where is it decided what has to be built again?",
            "How is the query built?",
            "Where is revoke called?",
            "When does the timer start?",
            "When is the mutex released?",
            "How are events published to subscribers?",
            "How does the render pipeline cull objects?",
            "Where is the license key validated?",
            "How are line endings handled?",
            "How large is the write buffer?",
            "Which nodes need rebalancing?",
            "How are error messages formatted?",
            "Where is the log file written?",
            "How are the rows sorted?",
            "What does the scheduler depend on?",
            "When does the migration run?",
            "Document the socket protocol",
            "main loop",
            "render pipeline",
            "Wie wird der Baum durchlaufen?",
            "Why did we drop Redis?",
            "When did the build last fail?",
        ] {
            assert_eq!(classify(question), None, "{question}");
        }
    }
}
