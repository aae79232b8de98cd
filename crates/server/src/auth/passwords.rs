//! The users that may connect, each with the verifier of its password.

use super::random::random;
use super::scram::Verifier;
use crate::ServerError;
use hotrow_sync::Arc;
use ring::hmac;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// The users that may connect, each with its SCRAM verifier: keys that check a password, but from which the password
/// cannot be computed. Passwords themselves are not stored. A clone is cheap.
#[derive(Clone)]
pub struct Passwords {
    shared: Arc<Shared>,
}

struct Shared {
    users: HashMap<String, Verifier>,
    /// The key from which the salt of an unknown user is made: the salt is the same at each attempt, as a real user's
    /// is.
    secret: hmac::Key,
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords").field("users", &self.shared.users.len()).finish_non_exhaustive()
    }
}

impl Passwords {
    /// Makes the users of a list of pairs: a user's name, and its password or a verifier in PostgreSQL's form
    /// (`SCRAM-SHA-256$…`). A plain password costs some milliseconds of hashing.
    ///
    /// # Errors
    /// [`ServerError::System`] if the system gives no random bytes.
    pub fn new<'a>(users: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, ServerError> {
        let users = users
            .into_iter()
            .map(|(user, secret)| Ok((user.to_owned(), verifier(secret)?)))
            .collect::<Result<_, ServerError>>()?;
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()?);
        Ok(Self { shared: Arc::new(Shared { users, secret }) })
    }

    /// Reads a file of lines `user:password` or `user:SCRAM-SHA-256$…`. Empty lines and lines that begin with `#` are
    /// skipped.
    ///
    /// # Errors
    /// [`ServerError::PasswordFile`] if the file cannot be read, [`ServerError::PasswordLine`] if a line has another
    /// form, [`ServerError::System`] if the system gives no random bytes.
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

    /// Returns the verifier of a user's password, and whether the user exists. For an unknown user, it returns a
    /// verifier that accepts no password. The caller must run the exchange all the same, so that a client cannot find
    /// out which users exist.
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
