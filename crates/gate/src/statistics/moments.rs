//! Statistics of noisy moments: the number of rows, and sums of values and of their products.
//!
//! Values are taken from the middle of their bounds, in steps, as the gate measures them; what does not change with it (variance,
//! covariance, correlation, slope) needs no more, and an intercept says where its middle is.

/// The moments of one column, as parts: n, Σx, Σx².
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OneColumn {
    pub(crate) rows: f64,
    pub(crate) sum: f64,
    pub(crate) squares: f64,
}

/// The moments of two columns, as parts: n, Σx, Σx², Σy, Σy², Σxy, of the rows that have both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TwoColumns {
    pub(crate) rows: f64,
    pub(crate) sum_x: f64,
    pub(crate) squares_x: f64,
    pub(crate) sum_y: f64,
    pub(crate) squares_y: f64,
    pub(crate) products: f64,
}

/// What the deviations are divided by: n, or n − 1 to estimate that of a population from a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Divisor {
    Population,
    Sample,
}

impl Divisor {
    /// `None` where there are too few rows.
    fn of(self, rows: f64) -> Option<f64> {
        match self {
            Divisor::Population => (rows >= 1.0).then_some(rows),
            Divisor::Sample => (rows >= 2.0).then_some(rows - 1.0),
        }
    }
}

/// Σ(x − mean)(y − mean), for at least one row.
fn deviations(rows: f64, sum_x: f64, sum_y: f64, products: f64) -> f64 {
    products - sum_x / rows * sum_y
}

impl OneColumn {
    /// From n, Σx and Σx², in this order.
    pub(crate) fn new(parts: &[f64]) -> Option<OneColumn> {
        let [rows, sum, squares] = *parts else { return None };
        Some(OneColumn { rows, sum, squares })
    }

    /// The mean, from the middle of the bounds; `None` without rows.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.rows >= 1.0).then(|| self.sum / self.rows)
    }

    /// The variance: noisy moments may give a negative one, which is kept, so that what is estimated from many is centred. `None` where
    /// there are too few rows.
    pub(crate) fn variance(&self, divisor: Divisor) -> Option<f64> {
        Some(deviations(self.rows, self.sum, self.sum, self.squares) / divisor.of(self.rows)?)
    }

    /// The standard deviation with the sign of the variance: −√−v where noisy moments give a negative variance.
    pub(crate) fn deviation(&self, divisor: Divisor) -> Option<f64> {
        self.variance(divisor).map(|variance| variance.abs().sqrt().copysign(variance))
    }
}

impl TwoColumns {
    /// From n, Σx, Σx², Σy, Σy² and Σxy, in this order.
    pub(crate) fn new(parts: &[f64]) -> Option<TwoColumns> {
        let [rows, sum_x, squares_x, sum_y, squares_y, products] = *parts else { return None };
        Some(TwoColumns { rows, sum_x, squares_x, sum_y, squares_y, products })
    }

    /// The covariance; `None` where there are too few rows.
    pub(crate) fn covariance(&self, divisor: Divisor) -> Option<f64> {
        Some(deviations(self.rows, self.sum_x, self.sum_y, self.products) / divisor.of(self.rows)?)
    }

    /// The correlation; `None` where a variance is not positive.
    pub(crate) fn correlation(&self) -> Option<f64> {
        let (x, y) = (self.x().variance(Divisor::Population)?, self.y().variance(Divisor::Population)?);
        (x > 0.0 && y > 0.0).then_some(self.covariance(Divisor::Population)? / (x.sqrt() * y.sqrt()))
    }

    /// The slope of the least-squares line of y over x; `None` where the variance of x is not positive.
    pub(crate) fn slope(&self) -> Option<f64> {
        let variance = self.x().variance(Divisor::Population)?;
        (variance > 0.0).then_some(self.covariance(Divisor::Population)? / variance)
    }

    /// The height of that line at x = `at`, from the middles of the bounds: REGR_INTERCEPT is that at minus the middle of x, plus the
    /// middle of y. `None` where there is no slope.
    pub(crate) fn height(&self, at: f64) -> Option<f64> {
        Some(self.y().mean()? + self.slope()? * (at - self.x().mean()?))
    }

    /// The moments of x.
    pub(crate) fn x(&self) -> OneColumn {
        OneColumn { rows: self.rows, sum: self.sum_x, squares: self.squares_x }
    }

    /// The moments of y.
    pub(crate) fn y(&self) -> OneColumn {
        OneColumn { rows: self.rows, sum: self.sum_y, squares: self.squares_y }
    }
}
