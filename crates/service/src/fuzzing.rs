//! What fuzzing calls and no other crate may.

pub use crate::identity::admit;
