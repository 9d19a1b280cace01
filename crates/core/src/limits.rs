//! The tunable numbers of this crate, each with its unit and reason. Those of helper programs are in [`crate::helper`].

pub(crate) mod terms {
    /// Minimum characters of a word matched inside a compound or as a prefix.
    pub(crate) const PART: usize = 4;
    /// Characters by which an inflected word may differ from a listed one.
    pub(crate) const ENDING: usize = 3;
}

pub(crate) mod walk {
    /// More threads do not speed up a disk.
    pub(crate) const THREADS: usize = 8;
    /// Maximum bytes of a rule file, so that a hostile one cannot exhaust memory.
    pub(crate) const RULE_FILE: u64 = 256 << 10;
}

pub(crate) mod trust {
    /// Maximum bytes read of a file; for a larger script, its size and modification time count too.
    pub(crate) const FILE: u64 = 1 << 20;
    /// Maximum bytes read in total: about 50 ms before each turn of an agent.
    pub(crate) const BYTES: u64 = 16 << 20;
    /// Maximum entries of all directories. With more, the folder cannot be trusted.
    pub(crate) const ENTRIES: usize = 2_000;
    /// Maximum nesting of directories.
    pub(crate) const DEPTH: usize = 8;
    /// Maximum number of parent folders, up to the home folder or the root of the disk.
    pub(crate) const LEVELS: usize = 64;
    /// Maximum paths looked up for commands in settings: a few per word, one for each folder that it may refer to.
    pub(crate) const PATHS: usize = 40_000;
    /// Maximum bytes of a `.git` file, and of the files that it leads to.
    pub(crate) const GIT_LINK: u64 = 4 << 10;
    /// Maximum number of Git hooks.
    pub(crate) const HOOKS: usize = 100;
    /// Maximum lines shown to the user; they are sent with the question. With more, the folder cannot be trusted.
    pub(crate) const LINES: usize = 1_000;
    /// Maximum bytes of these lines.
    pub(crate) const TEXT: usize = 64 << 10;
}
