//! What can be said about the truth, given noisy parts and the public laws of their noise.
//!
//! An engine computes integers, the parts of an answer: counts, sums, sums of products. To each an independent noise of a known law was
//! added, so everything here is post-processing: it costs nothing, and nothing about privacy rests on it.
//!
//! The truth is what is noisy, less its noise. So the noise is drawn again from its law, and a statistic is computed from the noisy
//! parts less each draw; its percentiles are the interval, and its median is the estimate ([`GroupDraws::estimate`]). For a quotient
//! this *is* Fieller's interval, the θ with |S − θ·C| below the quantile of |N_S − θ·N_C|: as long as C − N_C > 0, the draw
//! (S − N_S)/(C − N_C) is at most θ iff S − θ·C ≤ N_S − θ·N_C. So it covers exactly for averages and all that is linear, and it
//! needs no box around both parts. For curved statistics (variances, correlations) simulation shows that it covers, in `tests`.
//!
//! * Draws beyond what is possible (a mean outside of its bounds) are moved to the end of the range, never dropped: dropping them would
//!   leave no draw at the end, and a truth that lies there would never be covered.
//! * A statistic that divides is said only where what it divides by is surely not 0, by rules that follow from the noise: for counts
//!   see [`published`], for others [`GroupDraws::estimate`].
//! * Rows that were chosen by their noisy values (ORDER BY … LIMIT, HAVING, groups found by a threshold) need [`ShownValues`], or
//!   [`simultaneous_miss`].

mod chosen;
mod draws;
mod law;
mod moments;
mod published;
mod ranks;
#[cfg(test)]
mod tests;

pub(crate) use chosen::ShownValues;
pub(crate) use draws::{Estimated, Formula, GroupDraws, NoiseDraws, Statistic, number_of_draws};
pub(crate) use law::{NoiseLaw, SummedNoise};
pub(crate) use moments::{Divisor, OneColumn, TwoColumns};
pub(crate) use published::threshold;

/// The miss of each interval with which those of all groups hold together with 1 − `miss`, and so also those of the groups that
/// noisy values choose: the noises are independent, so (1 − m)^groups = 1 − miss (Šidák, *JASA* 62, 1967).
pub(crate) fn simultaneous_miss(miss: f64, groups: usize) -> f64 {
    -core_math::expm1(core_math::log1p(-miss) / groups.max(1) as f64)
}
