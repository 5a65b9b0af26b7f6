//! What can go wrong.

use dashu::rational::RBig;

/// Why there is no noise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoiseError {
    /// A scale that no noise has.
    #[error("noise of scale {scale} cannot be drawn; the scale must be above 0 and at most 2^{}", crate::LARGEST_BITS)]
    Scale {
        /// The scale.
        scale: RBig,
    },
    /// A rate of the exponential mechanism that is not positive.
    #[error("a rate of {rate} weighs no score; it must be above 0")]
    Rate {
        /// The rate.
        rate: RBig,
    },
    /// A probability that is no positive number.
    #[error("a probability of {probability} has no threshold; it must be above 0")]
    Probability {
        /// The probability.
        probability: RBig,
    },
    /// Nothing to choose from.
    #[error("no candidate has a weight above 0, so none can be chosen")]
    NoCandidate,
    /// An integer that does not fit.
    #[error("a number of the noise does not fit into 128 bits")]
    TooLarge,
    /// The operating system has no random bytes.
    #[error("the operating system gives no random bytes: {0}")]
    NoRandomBytes(getrandom::Error),
}
