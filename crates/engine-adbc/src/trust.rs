//! Whether a driver can have been put there, or changed, by someone else.

use std::path::Path;

use crate::error::AdbcError;

/// Checks a driver's file and all folders above it: each belongs to this program's user or to root, and no one else may write to it.
/// A folder such as `/tmp`, where everyone may make files but only change their own, may be above the driver's own folder.
#[cfg(unix)]
pub(crate) fn check(driver: &Path) -> Result<(), AdbcError> {
    use std::os::unix::fs::MetadataExt;

    let own = rustix::process::geteuid().as_raw();
    const STICKY: u32 = 0o1000;
    for (above, path) in driver.ancestors().enumerate() {
        let distrusted =
            |why: String| AdbcError::NotTrusted { driver: driver.to_path_buf(), path: path.to_path_buf(), why };
        let found = path.metadata().map_err(|error| distrusted(format!("cannot be looked at: {error}")))?;
        let owner = found.uid();
        if owner != own && owner != 0 {
            let why = format!(
                "belongs to the user {owner}, neither to this program's user ({own}) nor to root: make a copy of your own"
            );
            return Err(distrusted(why));
        }
        let is_shared_folder = above > 1 && found.mode() & STICKY != 0;
        if found.mode() & 0o022 != 0 && !is_shared_folder {
            return Err(distrusted("can be written by others: run chmod go-w on it".to_string()));
        }
    }
    Ok(())
}

/// Elsewhere there are no owners and modes to look at.
#[cfg(not(unix))]
pub(crate) fn check(_: &Path) -> Result<(), AdbcError> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_or_folder_that_others_can_write_is_not_trusted() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        let folder = place.join("drivers");
        fs::create_dir(&folder).unwrap();
        set(&folder, 0o755);
        let file = folder.join("libx.so");
        fs::write(&file, "").unwrap();
        set(&file, 0o644);
        check(&file).unwrap();
        for (path, bad, good) in [
            (&file, 0o666, 0o644),
            (&file, 0o664, 0o644),
            (&folder, 0o777, 0o755),
            (&folder, 0o1777, 0o755),
            (&place, 0o770, 0o700),
        ] {
            set(path, bad);
            let error = check(&file).unwrap_err();
            let AdbcError::NotTrusted { path: named, why, .. } = &error else { panic!("{error}") };
            assert!(named == path && why.contains("chmod go-w"), "{bad:o}: {error}");
            set(path, good);
            check(&file).unwrap();
        }
    }

    #[test]
    fn a_file_of_another_user_is_not_trusted() {
        // Only root can give a file away.
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let file = place.path().canonicalize().unwrap().join("libx.so");
        fs::write(&file, "").unwrap();
        set(&file, 0o644);
        check(&file).unwrap();
        std::os::unix::fs::chown(&file, Some(12_345), None).unwrap();
        let error = check(&file).unwrap_err().to_string();
        assert!(error.contains("belongs to the user 12345"), "{error}");
    }
}
