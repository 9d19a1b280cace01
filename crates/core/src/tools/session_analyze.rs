//! The tool `session.analyze`.
