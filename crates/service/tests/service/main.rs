//! What the documents show, and to whom.

mod sight;
