//! What is read, one file for each kind of input.

pub mod amount;
pub mod cost;
pub mod csv;
pub mod declaration;
pub mod journal;
pub mod note;
pub mod plan;
pub mod proof;
pub mod question;
pub mod request;
pub mod token;
pub mod witness;

/// The bytes as text, which is how all of them arrive where a reader takes text.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}
