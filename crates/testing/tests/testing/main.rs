//! What the other tests stand on does what they rely on.

mod browser;
mod private_postgres;
