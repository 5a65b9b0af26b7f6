//! The lab: evidence that every filter and odometer keeps its promise against an adaptive adversary, and that the tempting
//! heuristics do not.

#![forbid(unsafe_code)]

pub mod adversary;
mod boundary;
pub mod certify;
pub mod engine;
mod error;
pub mod games;
mod loss;
mod mechanism;
pub mod monte_carlo;
mod random;

pub use adversary::Adversary;
pub use boundary::{Boundary, Sides, Tabulated};
pub use error::{Error, ErrorKind};
pub use games::{AdaptParamComp, Decides, FixedParamComp, Nature, PlainNature, PrivacyFilterComp, Reads, Round, View};
pub use loss::Loss;
pub use mechanism::{Answer, Mechanism, Outcome, World};
pub use random::{Generator, Run};
