//! Agents as npm packages, installed into the data folder with the user's consent.
//!
//! A [`List`] names the packages on offer with their exact versions, [`Npm`] installs one, and [`Packages`] is the
//! folder that holds them:
//!
//! ```text
//! agents/registry.json             a newer list than the one that ships with this version
//! agents/<agent>/lock              held during an installation
//! agents/<agent>/installed.json    the version in use and the one before it
//! agents/<agent>/<version>/        package.json, package-lock.json, node_modules
//! agents/login/                    empty: programs for a login run there
//! agents/<agent>/.new-*            an installation that has not ended; removed by the next one
//! ```
//!
//! Each version is prepared in a temporary folder and takes effect when `installed.json` is written, so an interrupted
//! installation leaves nothing that could be started. No package runs a script during the installation.

mod error;
mod folder;
mod list;
mod npm;

pub(crate) use error::InstallError;
pub(crate) use folder::{Installed, Packages, Release};
pub(crate) use list::{List, REGISTRY};
#[cfg(test)]
pub(crate) use npm::NODE;
pub(crate) use npm::{Npm, Wanted};
