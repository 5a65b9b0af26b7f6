//! Every input of the corpus, without a fuzzer: what once failed does not fail again.

use std::collections::BTreeSet;
use std::path::Path;

use taximeter_fuzz::{FuzzTarget, TARGETS};

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn replay(name: &str) {
    let target = FuzzTarget::find(name).unwrap();
    let folder = target.corpus();
    let inputs = names(&folder);
    assert!(inputs.len() >= 10, "{} has few inputs", folder.display());
    for input in inputs {
        let data = std::fs::read(folder.join(&input)).unwrap();
        let checked = std::panic::catch_unwind(|| target.run(&data));
        assert!(checked.is_ok(), "{} fails; see above", folder.join(input).display());
    }
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    assert_eq!(names(&corpus), TARGETS.iter().map(|target| target.name().to_string()).collect());
}

macro_rules! replayed {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                replay(stringify!($name));
            }
        )*
        const REPLAYED: &[&str] = &[$(stringify!($name)),*];
    };
}

replayed!(amount cost csv declaration journal note plan proof question request token witness);

#[test]
fn every_corpus_is_replayed() {
    assert_eq!(TARGETS.iter().map(FuzzTarget::name).collect::<Vec<_>>(), REPLAYED);
}
