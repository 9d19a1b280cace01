//! End-to-end tests over the real binaries.
