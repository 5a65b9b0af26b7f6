//! What fuzzing calls and no other crate may.

pub use crate::verify::replay;
pub use crate::witness::{read_witness, read_witness_line};
