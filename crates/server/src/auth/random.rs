//! Random bytes, for secrets, salts and nonces.

use crate::ServerError;
use ring::rand::{SecureRandom, SystemRandom};
use std::io;

/// Returns `N` random bytes from the system's cryptographic generator.
///
/// # Errors
/// [`ServerError::System`] if the system gives no random bytes.
pub fn random<const N: usize>() -> Result<[u8; N], ServerError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ServerError::System(io::Error::other("no random numbers")))?;
    Ok(bytes)
}
