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
mod price;
pub mod reference;

pub use amount::{Amount, FineAmount, Parsed, Rounding};
pub use budget::Budget;
pub use cost::{Cost, CostKind, Declared};
pub use error::Error;
pub use filter::{
    Admission, Balance, Count, EXACT_COUNTS, Filter, FilterRule, FilterSpec, Forfeit, OnHalt, Refusal, Verdict,
    residue_after, residue_of,
};
pub use odometer::{
    Granularity, Guarantee, Odometer, OdometerParameters, OdometerRule, OdometerSpec, PricedCost, Reading,
};

#[cfg(test)]
mod tests;
