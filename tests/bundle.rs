//! The package that people install.

#![cfg(target_os = "linux")]
