//! How long something takes: by the clock on the wall, or by the processors.

use std::time::Instant;

/// A stopwatch that runs.
pub enum Stopwatch {
    Wall(Instant),
    /// The seconds that this process had on all processors when it was started.
    Processor(f64),
}

impl Stopwatch {
    pub fn start(is_processor: bool) -> Stopwatch {
        if is_processor { Stopwatch::Processor(processor_seconds()) } else { Stopwatch::Wall(Instant::now()) }
    }

    /// The seconds since it was started.
    pub fn seconds(&self) -> f64 {
        match self {
            Stopwatch::Wall(started) => started.elapsed().as_secs_f64(),
            Stopwatch::Processor(before) => processor_seconds() - before,
        }
    }
}

/// What the threads of this process have had of the processors, also those that have ended.
fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
