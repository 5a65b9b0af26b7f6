//! The fuzzer: libFuzzer on the target that the environment variable `TAXIMETER_FUZZ_TARGET` names.
// libFuzzer has a `main` of its own, and calls what the macro defines.
#![no_main]

use std::sync::LazyLock;

use taximeter_fuzz::FuzzTarget;

static TARGET: LazyLock<&FuzzTarget> = LazyLock::new(|| {
    let name = std::env::var("TAXIMETER_FUZZ_TARGET").unwrap_or_default();
    FuzzTarget::find(&name).unwrap_or_else(|| panic!("TAXIMETER_FUZZ_TARGET must name a target, and is {name:?}"))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET.run(data));
