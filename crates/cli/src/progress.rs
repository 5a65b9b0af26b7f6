//! A progress bar on standard error for work that takes longer than a second.

use std::cell::OnceCell;
use std::io::{self, Read};
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

    /// A function that sets the share of the work that is done. The bar disappears when it is dropped.
    pub fn shares(self) -> impl Fn(f64) {
        move |done| self.share(done)
    }

    /// Yields the items, and shows the share that is done.
    pub fn over<T>(what: &'static str, items: impl ExactSizeIterator<Item = T>) -> impl Iterator<Item = T> {
        let (progress, total) = (Progress::new(what), items.len() as f64);
        items.enumerate().inspect(move |(done, _)| progress.share(*done as f64 / total)).map(|(_, item)| item)
    }

    /// Sets the share of the work that is done.
    pub fn share(&self, done: f64) {
        const PARTS: u64 = 1000;
        if let Some(bar) = self.bar(|| ProgressBar::new(PARTS), "{msg} {bar:40} {percent} %, {eta} left") {
            bar.set_position((done.clamp(0.0, 1.0) * PARTS as f64) as u64);
        }
    }

    /// Sets how much is done, if the total is unknown.
    pub fn count(&self, done: u64) {
        if let Some(bar) = self.bar(ProgressBar::no_length, "{msg} {human_pos} so far, {elapsed}") {
            bar.set_position(done);
        }
    }

    /// The bar, after the first second.
    fn bar(&self, make: impl FnOnce() -> ProgressBar, template: &str) -> Option<&ProgressBar> {
        let is_time = self.started.elapsed() >= Duration::from_secs(1);
        is_time.then(|| {
            self.bar.get_or_init(|| {
                let style = ProgressStyle::with_template(template);
                make().with_message(self.what).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            })
        })
    }

    /// Prints something while the bar is hidden.
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

/// A reader that reports the number of bytes read so far.
pub struct CountingReader<R, F> {
    inner: R,
    read: u64,
    report: F,
}

impl<R: Read, F: FnMut(u64)> CountingReader<R, F> {
    /// Counts from the next byte on.
    pub fn new(inner: R, report: F) -> CountingReader<R, F> {
        CountingReader { inner, read: 0, report }
    }
}

impl<R: Read, F: FnMut(u64)> Read for CountingReader<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read += count as u64;
        (self.report)(self.read);
        Ok(count)
    }
}
