//! The trait behind which every foreign format stands.
