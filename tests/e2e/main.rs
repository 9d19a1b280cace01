//! End-to-end tests over the real binaries.

#[cfg(target_os = "linux")]
mod desktop;

mod agents;
mod ask;
mod attach;
#[cfg(target_os = "linux")]
mod attacks;
mod bundle;
#[cfg(target_os = "linux")]
mod chaos;
#[cfg(target_os = "linux")]
mod delegations;
mod devices;
mod doctor;
mod editor;
mod explore;
mod local_model;
mod mcp;
mod one_writer;
#[cfg(target_os = "linux")]
mod reading;
mod serve;
mod sessions;
mod squatter;
mod trust;
#[cfg(target_os = "linux")]
mod window;
mod year;
