//! Who may come in.

use crate::ServerError;
use crate::scram::Verifier;
use hotrow_sync::Arc;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::Path;

/// Users and what proves their passwords. Passwords themselves are not kept.
#[derive(Clone)]
pub struct Passwords {
    shared: Arc<Shared>,
}

struct Shared {
    users: HashMap<String, Verifier>,
    /// From which the salt of a user who does not exist is made: the same at each try, as a real one's.
    secret: hmac::Key,
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords").field("users", &self.shared.users.len()).finish_non_exhaustive()
    }
}

impl Passwords {
    /// Users with their passwords, or with verifiers as PostgreSQL stores them (`SCRAM-SHA-256$…`).
    pub fn new<'a>(users: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, ServerError> {
        let users = users
            .into_iter()
            .map(|(user, secret)| Ok((user.to_owned(), verifier(secret)?)))
            .collect::<Result<_, ServerError>>()?;
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()?);
        Ok(Self { shared: Arc::new(Shared { users, secret }) })
    }

    /// Reads a file of lines `user:password` or `user:SCRAM-SHA-256$…`. Empty lines and lines that begin with `#` do not
    /// count.
    pub fn read(path: &Path) -> Result<Self, ServerError> {
        let text = std::fs::read_to_string(path).map_err(|error| ServerError::PasswordFile(path.to_owned(), error))?;
        let mut users = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = |reason| ServerError::PasswordLine { path: path.to_owned(), line: number + 1, reason };
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let (user, secret) = line.split_once(':').ok_or_else(|| wrong("no colon"))?;
            if user.is_empty() || secret.is_empty() {
                return Err(wrong("an empty user or password"));
            }
            if Verifier::is_written_as(secret) && Verifier::parse(secret).is_none() {
                return Err(wrong("a SCRAM-SHA-256 verifier that is none"));
            }
            users.push((user, secret));
        }
        Self::new(users)
    }

    /// What proves a user's password, and whether there is such a user. For one who does not exist it is a verifier that
    /// nothing satisfies, so that the exchange looks and costs the same.
    pub(crate) fn verifier(&self, user: &str) -> (Cow<'_, Verifier>, bool) {
        match self.shared.users.get(user) {
            Some(verifier) => (Cow::Borrowed(verifier), true),
            None => {
                let salt = hmac::sign(&self.shared.secret, user.as_bytes());
                (Cow::Owned(Verifier::unsatisfiable(&salt.as_ref()[..16])), false)
            }
        }
    }
}

fn verifier(secret: &str) -> Result<Verifier, ServerError> {
    match Verifier::parse(secret) {
        Some(verifier) => Ok(verifier),
        None => Ok(Verifier::new(secret, &random::<16>()?)),
    }
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], ServerError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ServerError::System(io::Error::other("no random numbers")))?;
    Ok(bytes)
}
