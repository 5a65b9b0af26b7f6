//! Where drivers are found. Nothing is loaded.

use std::fs;
use std::path::Path;

use taximeter_engine_adbc::{AdbcError, DriverSpec, Search, advice};

fn name(name: &str) -> DriverSpec {
    DriverSpec::Name(name.to_string())
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_library_is_found_by_its_name_and_a_manifest_comes_first() {
    let place = tempfile::tempdir().unwrap();
    let search = Search::in_folders(vec![place.path().to_path_buf()]);
    assert_eq!(search.drivers(), []);
    let library = place.path().join("libduckdb.so");
    put(&library, "");
    let found = search.find(&name("duckdb")).unwrap();
    assert_eq!((found.library, found.entry.as_str(), found.manifest), (library.clone(), "duckdb_adbc_init", None));

    let manifest = place.path().join("duckdb.toml");
    put(&manifest, "[Driver]\nentrypoint = 'other_init'\nshared = 'libduckdb.so'");
    let found = search.find(&name("duckdb")).unwrap();
    assert_eq!((found.library, found.entry.as_str(), found.manifest), (library, "other_init", Some(manifest)));
    // Any name may be that of a manifest.
    put(&place.path().join("own.toml"), "[Driver]\nshared = 'libduckdb.so'");
    put(&place.path().join("libadbc_driver_flightsql.so"), "");
    let found: Vec<_> = search.drivers().into_iter().map(|driver| (driver.name, driver.refused)).collect();
    assert_eq!(
        found,
        [("duckdb", None), ("flightsql", None), ("own", None)].map(|(name, why)| (name.to_string(), why))
    );
}

#[test]
fn a_driver_that_is_missing_is_an_error_with_what_to_do_and_where_it_was_looked_for() {
    let place = tempfile::tempdir().unwrap();
    let search = Search::in_folders(vec![place.path().to_path_buf()]);
    let error = search.find(&name("duckdb")).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("npm install") && text.contains(&place.path().display().to_string()), "{text}");
    assert!(matches!(search.find(&name("unheard")), Err(AdbcError::Missing { advice: None, .. })));
    assert!(advice("flightsql").unwrap().contains("pip install"));
}

#[test]
#[cfg(unix)]
fn a_driver_that_others_can_change_is_listed_with_the_reason_and_not_found() {
    use std::os::unix::fs::PermissionsExt;

    let place = tempfile::tempdir().unwrap();
    let search = Search::in_folders(vec![place.path().to_path_buf()]);
    let file = format!("{}duckdb{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = place.path().join(file);
    put(&library, "");
    fs::set_permissions(&library, fs::Permissions::from_mode(0o666)).unwrap();
    let error = search.find(&name("duckdb")).unwrap_err();
    assert!(matches!(&error, AdbcError::NotTrusted { .. }), "{error}");
    assert!(search.drivers()[0].refused.as_ref().is_some_and(|why| why.contains("chmod go-w")));
    // A link to a safe place is followed, and the place is looked at.
    fs::set_permissions(&library, fs::Permissions::from_mode(0o644)).unwrap();
    let manifest = place.path().join("linked.toml");
    put(&manifest, &format!("[Driver]\nshared = '{}'", library.display()));
    search.find(&name("linked")).unwrap();
    fs::set_permissions(&manifest, fs::Permissions::from_mode(0o622)).unwrap();
    assert!(matches!(search.find(&name("linked")), Err(AdbcError::NotTrusted { .. } | AdbcError::Missing { .. })));
}
