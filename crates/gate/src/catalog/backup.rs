//! A copy of the gate's folder, made while questions are asked.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use taximeter_ledger::files::make_private_folder;

use super::{Catalog, FILE, SELECT_NEWEST, select};
use crate::error::Error;

/// How often a copy is begun again because a dataset got another version meanwhile, and its old file was removed.
const ATTEMPTS: usize = 5;

impl Catalog {
    /// Copies the records and the data that the gate keeps itself into a folder, and returns the names of the files there. Data that
    /// are elsewhere (PostgreSQL, Parquet files, a server) stay where they are.
    pub fn back_up(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        make_private_folder(folder).map_err(|error| cannot(folder, &error))?;
        for _ in 1..ATTEMPTS {
            if let Some(files) = self.try_back_up(folder)? {
                return Ok(files);
            }
        }
        self.try_back_up(folder)?.ok_or_else(|| {
            Error::storage(
                "the data of a dataset were replaced again and again while they were copied; try again later",
            )
        })
    }

    /// Nothing if a file is gone, because its dataset has a newer version than the copied records say.
    fn try_back_up(&self, folder: &Path) -> Result<Option<Vec<PathBuf>>, Error> {
        let records = folder.join(FILE);
        match fs::remove_file(&records) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot(&records, &error)),
            _ => {}
        }
        let Some(target) = records.to_str() else {
            return Err(Error::storage(format!("the path {} is not text; choose another folder", records.display())));
        };
        // One transaction that reads: a writer does not wait for it, and what it writes meanwhile is not in the copy.
        self.lock().execute("VACUUM INTO ?1", [target])?;
        sync(&records)?;
        let copied = Connection::open_with_flags(&records, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut files = vec![PathBuf::from(FILE)];
        for dataset in select(&copied, SELECT_NEWEST, &[])? {
            let Some(file) = dataset.source.own_file() else { continue };
            let (from, to) = (self.folder.join(file), folder.join(file));
            match fs::copy(&from, &to) {
                Ok(_) => sync(&to)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(cannot(&to, &error)),
            }
            files.push(file.to_path_buf());
        }
        Ok(Some(files))
    }
}

fn sync(path: &Path) -> Result<(), Error> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| cannot(path, &error))
}

fn cannot(path: &Path, error: &io::Error) -> Error {
    Error::storage(format!("the copy {} cannot be written: {error}", path.display()))
}
