//! The tool `session.list`.
