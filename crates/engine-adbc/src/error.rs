use std::path::PathBuf;

/// What went wrong with a driver or through it. It names no secret: what was given as one is taken out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdbcError {
    /// What an owner wrote names no driver.
    #[error("{0}")]
    Spec(String),
    /// No driver of this name was found.
    #[error("the driver {name} was not found{}; it was looked for in: {}", advised(advice.as_deref()), listed(looked))]
    Missing {
        /// Its name.
        name: String,
        /// How it is installed, if that is known.
        advice: Option<String>,
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// A file or folder that others could change.
    #[error("the driver {driver} is not loaded: {path} {why}; a driver runs with all rights of this program")]
    NotTrusted {
        /// The library or manifest.
        driver: PathBuf,
        /// The file or folder that is not safe.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// A manifest that cannot be read.
    #[error("the driver manifest {path}: {why}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        why: String,
    },
    /// A library that is no driver, or one of another version.
    #[error("the driver {path} cannot be loaded: {why}")]
    Load {
        /// The library.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The driver or its database refused.
    #[error("{driver}: {message}")]
    Failed {
        /// The driver's name.
        driver: String,
        /// What it says, without secrets.
        message: String,
    },
    /// A call took too long and was stopped.
    #[error("{driver}: the statement was stopped after {most}")]
    Late {
        /// The driver's name.
        driver: String,
        /// The limit.
        most: String,
    },
    /// A call took too long and could not be stopped.
    #[error(
        "{driver}: the statement exceeded {most} and could not be stopped ({why}); the session has ended, and the statement may still run"
    )]
    Lost {
        /// The driver's name.
        driver: String,
        /// The limit.
        most: String,
        /// Why it could not be stopped.
        why: String,
    },
}

fn advised(advice: Option<&str>) -> String {
    advice.map(|advice| format!("; {advice}")).unwrap_or_default()
}

fn listed(places: &[PathBuf]) -> String {
    match places {
        [] => "no folder".to_string(),
        places => places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", "),
    }
}
