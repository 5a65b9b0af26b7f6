//! `cargo xtask postgres`: a private PostgreSQL server for trying things out by hand.

use std::process::ExitCode;

use taximeter_testing::PrivatePostgres;

/// Holds the server until the end of the input. At Ctrl-C this process just ends; the server sees that and goes as well.
pub fn run(arguments: &[String]) -> ExitCode {
    if let [argument, ..] = arguments {
        eprintln!("error: `cargo xtask postgres` takes no arguments, not {argument:?}");
        return ExitCode::from(crate::WRONG_USAGE);
    }
    match hold() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn hold() -> Result<(), String> {
    let server = PrivatePostgres::start()?;
    let url = server.new_database()?;
    eprintln!("a private PostgreSQL server with an empty database; Ctrl-C or the end of the input removes both");
    println!("{url}");
    // Whatever is typed means nothing; only its end counts.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())
        .map_err(|error| format!("the input cannot be read: {error}"))?;
    Ok(())
}
