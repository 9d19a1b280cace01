//! The tool `session.search`.
