//! The numbers of this crate that may be tuned, each with its unit and its reason. Those of helper programs are in
//! `helper::limits`.

/// Words of questions.
pub(crate) mod terms {
    /// Minimum characters of a word matched inside a compound or as a prefix.
    pub(crate) const PART: usize = 4;
    /// Characters by which an inflected word may differ from a listed one.
    pub(crate) const ENDING: usize = 3;
}

/// Files of a workspace.
pub(crate) mod walk {
    /// More threads do not speed up a disk.
    pub(crate) const THREADS: usize = 8;
    /// Bytes of a rule file, so that a hostile one cannot exhaust memory.
    pub(crate) const RULE_FILE: u64 = 256 << 10;
}

/// The agent settings in a folder.
pub(crate) mod trust {
    /// Bytes of a file that are read; of a larger script, size and time of change count too.
    pub(crate) const FILE: u64 = 1 << 20;
    /// Bytes read altogether: some 50 ms before each turn of an agent.
    pub(crate) const BYTES: u64 = 16 << 20;
    /// Entries of all directories. With more, the folder cannot be trusted.
    pub(crate) const ENTRIES: usize = 2_000;
    /// Nesting of directories.
    pub(crate) const DEPTH: usize = 8;
    /// Folders above, up to the home folder or the root of the disk.
    pub(crate) const LEVELS: usize = 64;
    /// Paths in commands of settings that are looked up: a few for each word, one for each folder that it may mean.
    pub(crate) const PATHS: usize = 40_000;
    /// Bytes of a `.git` file, and of those that it leads to.
    pub(crate) const GIT_LINK: u64 = 4 << 10;
    /// Git hooks.
    pub(crate) const HOOKS: usize = 100;
    /// Lines that a person is shown, and their bytes: they travel with the question. With more, the folder cannot be
    /// trusted.
    pub(crate) const LINES: usize = 1_000;
    pub(crate) const TEXT: usize = 64 << 10;
}
