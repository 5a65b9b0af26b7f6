//! Secure random numbers of the operating system.

use crate::{Code, Problem};

/// Random bytes.
pub fn random<const LENGTH: usize>() -> Result<[u8; LENGTH], Problem> {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes)
        .map_err(|error| Problem::new(Code::Storage, format!("the system gives no random numbers: {error}")))?;
    Ok(bytes)
}

/// Random bytes as hexadecimal digits in lower case.
pub fn random_digits<const LENGTH: usize>() -> Result<String, Problem> {
    Ok(hex::encode(random::<LENGTH>()?))
}
