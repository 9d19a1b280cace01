//! The tool `session.read`.
