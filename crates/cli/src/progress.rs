//! Progress of long work: nothing for the first second, then a bar on standard error.

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar that appears only if the work takes longer than a second.
pub struct Progress {
    what: &'static str,
    started: Instant,
    bar: OnceCell<ProgressBar>,
}

impl Progress {
    /// Starts the clock.
    pub fn new(what: &'static str) -> Progress {
        Progress { what, started: Instant::now(), bar: OnceCell::new() }
    }

    /// Told a share of the work that is done.
    pub fn share(&self, done: f64) {
        const PARTS: u64 = 1000;
        if self.started.elapsed() < Duration::from_secs(1) {
            return;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::new(PARTS).with_message(self.what);
            let style = ProgressStyle::with_template("{msg} {bar:40} {percent} %, {eta} left");
            bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_position((done.clamp(0.0, 1.0) * PARTS as f64) as u64);
    }

    /// Prints something while the bar, if it is there, stands aside.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        match self.bar.get() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
