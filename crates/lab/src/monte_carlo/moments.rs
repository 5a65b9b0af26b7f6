//! Mean and variance of a stream of numbers, added up one by one and merged chunk by chunk.

/// Count, mean and sum of squared deviations (Welford; merged after Chan, Golub, LeVeque).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        let before = value - self.mean;
        self.mean += before / self.count;
        self.squares += before * (value - self.mean);
    }

    pub(super) fn merge(&mut self, other: &Moments) {
        let count = self.count + other.count;
        if count == 0.0 {
            return;
        }
        let apart = other.mean - self.mean;
        self.mean += apart * (other.count / count);
        self.squares += other.squares + apart * apart * (self.count * other.count / count);
        self.count = count;
    }

    pub(super) fn mean(&self) -> f64 {
        self.mean
    }

    /// The unbiased sample variance.
    pub(super) fn variance(&self) -> f64 {
        self.squares / (self.count - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_moments_are_those_of_all_values() {
        let values: Vec<f64> = (0..100).map(|i| f64::from(i * i % 17)).collect();
        let mut merged = Moments::default();
        for part in values.chunks(7) {
            let mut moments = Moments::default();
            part.iter().for_each(|&value| moments.add(value));
            merged.merge(&moments);
        }
        let mean = values.iter().sum::<f64>() / 100.0;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 99.0;
        assert!((merged.mean() - mean).abs() < 1e-12);
        assert!((merged.variance() - variance).abs() < 1e-12);
    }
}
