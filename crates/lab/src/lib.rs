//! The lab: evidence that every filter and odometer keeps its promise against an adaptive adversary, and that the tempting
//! heuristics do not.

#![forbid(unsafe_code)]

pub mod adversary;
mod boundary;
pub mod certify;
pub mod engine;
mod error;
pub mod games;
mod law;
mod loss;
mod mechanism;
pub mod monte_carlo;
mod random;
mod view;
mod world;

pub use adversary::Adversary;
pub use boundary::{Boundary, Sides, Tabulated};
pub use error::Error;
pub use games::{AdaptParamComp, Decides, FixedParamComp, Nature, PlainNature, PrivacyFilterComp, Reads};
pub use loss::Loss;
pub use mechanism::Mechanism;
pub use random::{Generator, Run};
pub use view::{Round, View};
pub use world::{MechanismOutput, Observation, World};
