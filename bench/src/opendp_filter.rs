//! OpenDP's privacy filter, driven as lightly as its interface allows.
//!
//! **What is compared.** The time to make a filter and admit n costs one after another, each known only when it is asked. In
//! OpenDP that is `make_fully_adaptive_composition` under pure differential privacy inside `make_privacy_filter`. OpenDP 0.16
//! keeps the privacy map of every query it answered, and before it lets an answer go it evaluates all of them again and adds
//! them up: the n-th query costs O(n), n queries O(n²), as its own documentation says. Ours keeps the sums, so a charge costs
//! the same whatever came before it.
//!
//! **What is done to be fair.** The queries are as cheap as queries can be: they draw no noise and return nothing, and a
//! privacy map is one multiplication, less than in OpenDP's own mechanisms. The dataset is one `bool`, and OpenDP is called
//! from Rust. Making a query is timed, about a tenth of a microsecond; so is turning a number into an exact amount on our side.
//!
//! **What is not the same.** OpenDP does more than accounting: it runs the query and can hand out interactive ones. It adds
//! with arbitrary precision and rounds each sum up, so that its total is a safe bound; ours is exact. That, and the panic hook
//! that it swaps around each addition, makes one addition slow; how many there are is what grows. Our basic rule gives the
//! same pure guarantee as this filter of OpenDP. Our residue rule promises (ε, δ) and admits far more of the same costs.

use opendp::combinators::{make_fully_adaptive_composition, make_privacy_filter};
use opendp::core::{Function, Measurement, PrivacyMap};
use opendp::domains::AtomDomain;
use opendp::error::{Error, ErrorVariant};
use opendp::measures::MaxDivergence;
use opendp::metrics::DiscreteDistance;

/// The release that the description above is about; `Cargo.toml` pins it.
pub const VERSION: &str = "0.16.0";

/// Asks one query for each cost and returns how many were answered.
///
/// It ends at the first refusal, since OpenDP's filter answers nothing afterwards, not even what would still fit.
pub fn admitted(costs: &[f64], budget: f64) -> Result<usize, String> {
    let odometer =
        make_fully_adaptive_composition::<_, _, _, ()>(AtomDomain::<bool>::default(), DiscreteDistance, MaxDivergence)
            .map_err(describe)?;
    let filter = make_privacy_filter(odometer, NEIGHBOURS, budget).map_err(describe)?;
    let mut filter = filter.invoke(&true).map_err(describe)?;
    for (answered, &cost) in costs.iter().enumerate() {
        match filter.invoke(query(cost).map_err(describe)?) {
            Ok(()) => {}
            Err(error) if is_refusal(&error) => return Ok(answered),
            Err(error) => return Err(describe(error)),
        }
    }
    Ok(costs.len())
}

/// The distance between neighbouring datasets.
const NEIGHBOURS: u32 = 1;

type Query = Measurement<AtomDomain<bool>, DiscreteDistance, MaxDivergence, ()>;

/// A query that answers nothing and costs ε.
fn query(epsilon: f64) -> Result<Query, Error> {
    Measurement::new(
        AtomDomain::default(),
        DiscreteDistance,
        MaxDivergence,
        Function::new(|_: &bool| ()),
        PrivacyMap::new(move |&distance: &u32| f64::from(distance) * epsilon),
    )
}

/// A refusal has no variant of its own; only its message tells it from a failure.
fn is_refusal(error: &Error) -> bool {
    error.variant == ErrorVariant::FailedFunction
        && error.message.as_deref().is_some_and(|message| message.starts_with("filter is now exhausted"))
}

fn describe(error: Error) -> String {
    format!("OpenDP: {}", error.message.unwrap_or_else(|| format!("{:?}", error.variant)))
}

#[cfg(test)]
mod tests {
    use super::admitted;

    /// One test, because OpenDP swaps the panic hook of the whole process while it adds.
    #[test]
    fn opendp_answers_what_fits_and_a_failure_is_not_a_refusal() {
        let check = |costs: &[f64], expected: usize| assert_eq!(admitted(costs, 1.0), Ok(expected), "{costs:?}");
        check(&[], 0);
        check(&[0.125; 8], 8);
        check(&[0.125; 20], 8);
        check(&[0.5, 0.75, 0.125], 1);
        assert!(admitted(&[f64::NAN], 1.0).is_err());
        assert!(admitted(&[f64::INFINITY], 1.0).is_err());
    }
}
