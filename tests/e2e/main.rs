//! End-to-end tests over the real binaries.

#[cfg(target_os = "linux")]
#[path = "../support/desktop/mod.rs"]
mod desktop;

#[cfg(unix)]
mod ask;
#[cfg(unix)]
mod attach;
#[cfg(target_os = "linux")]
mod attacks;
mod bundle;
#[cfg(target_os = "linux")]
mod chaos;
#[cfg(target_os = "linux")]
mod delegations;
#[cfg(unix)]
mod devices;
#[cfg(unix)]
mod doctor;
#[cfg(unix)]
mod editor;
#[cfg(unix)]
mod explore;
#[cfg(unix)]
mod local_model;
#[cfg(unix)]
mod mcp;
#[cfg(unix)]
mod one_writer;
#[cfg(target_os = "linux")]
mod reading;
#[cfg(unix)]
mod serve;
#[cfg(unix)]
mod sessions;
#[cfg(unix)]
mod squatter;
#[cfg(unix)]
mod trust;
#[cfg(target_os = "linux")]
mod window;
mod year;
