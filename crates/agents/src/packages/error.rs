//! Why nothing was installed.

use std::{io, path::PathBuf};

/// Sentences that also say what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error(
        "npm is not in the PATH. Install Node from https://nodejs.org, which includes npm, then try again."
    )]
    NoNpm,
    #[error("npm cannot reach its registry. Check the connection, then try again.")]
    Unreachable,
    #[error("npm's registry has no package {0}. Check for updates, then try again.")]
    Unknown(String),
    #[error(
        "A downloaded file does not match its checksum. Nothing was installed. Try again; if it happens again, do not install this version."
    )]
    Checksum,
    #[error("{0} has no checksum in npm's registry, so it cannot be verified. Nothing was installed.")]
    NoChecksum(String),
    #[error("The disk is full. Free {0} MB, then try again.")]
    DiskFull(u64),
    #[error(
        "{package} needs Node {needed}, and {has} is installed. Install a newer Node from https://nodejs.org, then try again."
    )]
    OldNode { package: String, needed: String, has: String },
    #[error("npm failed: {0}. Nothing was installed.")]
    Npm(String),
    #[error("npm didn't finish within an hour. Check the connection, then try again.")]
    Timeout,
    #[error("{package} contains no program {program}. Nothing was installed; check for updates.")]
    NoProgram { package: String, program: String },
    #[error("The installed program does not work: {0}. It was removed again.")]
    Silent(String),
    #[error("An installation of this agent is running. Wait until it ends, then try again.")]
    Locked,
    #[error("No earlier version is installed.")]
    NoPrevious,
    #[error("{path} cannot be written: {1}. Check its permissions and the disk, then try again.", path = .0.display())]
    Disk(PathBuf, io::Error),
    #[error("The installation was stopped. Nothing was installed.")]
    Stopped,
}
