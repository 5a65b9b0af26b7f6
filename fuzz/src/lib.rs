#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod targets;

use std::path::{Path, PathBuf};

/// Something that reads bytes from outside, and what must hold for all of them.
pub struct FuzzTarget {
    name: &'static str,
    check: fn(&[u8]),
}

/// All targets, in the order of their names.
pub const TARGETS: [FuzzTarget; 12] = [
    FuzzTarget { name: "amount", check: targets::amount::check },
    FuzzTarget { name: "cost", check: targets::cost::check },
    FuzzTarget { name: "csv", check: targets::csv::check },
    FuzzTarget { name: "declaration", check: targets::declaration::check },
    FuzzTarget { name: "journal", check: targets::journal::check },
    FuzzTarget { name: "note", check: targets::note::check },
    FuzzTarget { name: "plan", check: targets::plan::check },
    FuzzTarget { name: "proof", check: targets::proof::check },
    FuzzTarget { name: "question", check: targets::question::check },
    FuzzTarget { name: "request", check: targets::request::check },
    FuzzTarget { name: "token", check: targets::token::check },
    FuzzTarget { name: "witness", check: targets::witness::check },
];

/// As much stack as threads have by default, and so those that serve requests.
const STACK: usize = 2 << 20;

impl FuzzTarget {
    /// The target of a name.
    pub fn find(name: &str) -> Option<&'static FuzzTarget> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Where its inputs are in the repository.
    pub fn corpus(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }

    /// Reads the bytes, on a thread of the usual size. Panics if what must hold does not.
    pub fn run(&self, data: &[u8]) {
        let checked = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name(self.name.to_string()).stack_size(STACK);
            let thread = thread.spawn_scoped(scope, || (self.check)(data)).expect("a thread can be started");
            thread.join()
        });
        if let Err(panic) = checked {
            std::panic::resume_unwind(panic);
        }
    }
}
