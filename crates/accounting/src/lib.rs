#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod amount;
mod budget;
mod cost;
mod error;
mod filter;
mod lemma;
mod numeric;
mod odometer;
#[cfg(feature = "openapi")]
mod openapi;
mod parameter;
mod price;
pub mod reference;
mod theorem;
mod version;

pub use amount::{Amount, FineAmount, Parsed, Rounding};
pub use budget::Budget;
pub use cost::{Cost, CostForm, CostKind, Declared, Number};
pub use error::{Error, ErrorKind};
pub use filter::{
    Balance, Count, EXACT_COUNTS, Filter, FilterParameters, FilterRule, FilterSpec, OnHalt, Refusal, Verdict,
    residue_after, residue_of,
};
pub use odometer::{
    Granularity, Guarantee, Odometer, OdometerParameters, OdometerRule, OdometerSpec, PricedCost, Reading,
};
pub use parameter::Given;

#[cfg(test)]
mod tests;
