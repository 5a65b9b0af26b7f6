//! How long something takes: by the clock on the wall, or by the processors.

use std::error::Error;
use std::time::Instant;

/// A stopwatch that runs.
pub enum Stopwatch {
    Wall(Instant),
    /// The seconds that this process had on all processors when it was started.
    Processor(f64),
}

impl Stopwatch {
    pub fn start(is_processor: bool) -> Result<Stopwatch, Box<dyn Error>> {
        Ok(if is_processor { Stopwatch::Processor(processor_seconds()?) } else { Stopwatch::Wall(Instant::now()) })
    }

    /// The seconds since it was started.
    pub fn seconds(&self) -> Result<f64, Box<dyn Error>> {
        Ok(match self {
            Stopwatch::Wall(started) => started.elapsed().as_secs_f64(),
            Stopwatch::Processor(before) => processor_seconds()? - before,
        })
    }
}

/// What the threads of this process have had of the processors. Linux counts it in nanoseconds for every thread.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        // A thread may have ended since the folder was read.
        let Ok(times) = std::fs::read_to_string(task?.path().join("schedstat")) else { continue };
        nanoseconds += times.split_whitespace().next().unwrap_or("0").parse::<u64>()?;
    }
    Ok(nanoseconds as f64 / 1e9)
}
