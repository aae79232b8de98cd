//! SCRAM-SHA-256, the server's side (RFC 5802 and RFC 7677), without channel binding.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};
use std::num::NonZeroU32;
use subtle::{Choice, ConstantTimeEq};

/// The name of the SASL mechanism that the server offers.
pub const MECHANISM: &str = "SCRAM-SHA-256";

/// The rounds of hashing for a password that was given in plain text. The number is PostgreSQL's default.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).expect("not zero");

const KEY_BYTES: usize = digest::SHA256_OUTPUT_LEN;

type Key = [u8; KEY_BYTES];

/// The keys with which the server checks a client's proof that it knows a password. The password cannot be computed
/// from them.
#[derive(Clone)]
pub struct Verifier {
    iterations: NonZeroU32,
    salt: Vec<u8>,
    stored_key: Key,
    server_key: Key,
}

impl Verifier {
    /// Computes the verifier of a password, with [`ITERATIONS`] rounds of hashing: some milliseconds.
    pub fn new(password: &str, salt: &[u8]) -> Self {
        // A password that SASLprep does not take is used as it is, as PostgreSQL does.
        let prepared = stringprep::saslprep(password).unwrap_or(password.into());
        let mut salted = Key::default();
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ITERATIONS, salt, prepared.as_bytes(), &mut salted);
        Self {
            iterations: ITERATIONS,
            salt: salt.to_owned(),
            stored_key: hash(&sign(&salted, b"Client Key")),
            server_key: sign(&salted, b"Server Key"),
        }
    }

    /// Makes a verifier that accepts no password, for a user that does not exist.
    pub fn unsatisfiable(salt: &[u8]) -> Self {
        Self { iterations: ITERATIONS, salt: salt.to_owned(), stored_key: Key::default(), server_key: Key::default() }
    }

    /// Whether a text begins like a verifier, even if the rest is malformed. Such a text in a password file is an
    /// error, not a password.
    pub fn is_written_as(text: &str) -> bool {
        text.starts_with("SCRAM-SHA-256$")
    }

    /// Parses a verifier in PostgreSQL's form, `SCRAM-SHA-256$iterations:salt$stored key:server key`. Returns `None` if
    /// the text has another form.
    pub fn parse(text: &str) -> Option<Self> {
        let (rounds, keys) = text.strip_prefix("SCRAM-SHA-256$")?.split_once('$')?;
        let (iterations, salt) = rounds.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let key = |text| Key::try_from(BASE64.decode(text).ok()?).ok();
        Some(Self {
            iterations: iterations.parse().ok()?,
            salt: BASE64.decode(salt).ok()?,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }
}

/// A SCRAM exchange in progress: the client's first message has come, and its last message is still to come.
pub struct Exchange<'a> {
    verifier: &'a Verifier,
    header: String,
    client_first: String,
    server_first: String,
    nonce: String,
}

/// The error for a client's message that does not follow SCRAM's grammar, asks for channel binding, or contradicts an
/// earlier message of the exchange.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed;

impl<'a> Exchange<'a> {
    /// Begins an exchange with the client's first message, `n,,n=user,r=nonce`. The server appends `random` to the
    /// client's nonce, so the caller must pass fresh random bytes.
    pub fn begin(verifier: &'a Verifier, message: &str, random: &[u8]) -> Result<Self, Malformed> {
        let mut parts = message.splitn(3, ',');
        let binding = parts.next().ok_or(Malformed)?;
        let identity = parts.next().ok_or(Malformed)?;
        let client_first = parts.next().ok_or(Malformed)?;
        // `p=…` asks for channel binding, which was not offered.
        if !matches!(binding, "n" | "y") {
            return Err(Malformed);
        }
        let mut attributes = client_first.split(',');
        attributes.next().filter(|user| user.starts_with("n=")).ok_or(Malformed)?;
        let client_nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r=")).ok_or(Malformed)?;
        if client_nonce.is_empty() {
            return Err(Malformed);
        }
        let nonce = format!("{client_nonce}{}", BASE64.encode(random));
        let server_first = format!("r={nonce},s={},i={}", BASE64.encode(&verifier.salt), verifier.iterations);
        let header = format!("{binding},{identity},");
        Ok(Self { verifier, header, client_first: client_first.to_owned(), server_first, nonce })
    }

    /// Returns the server's first message, which holds the nonce, the salt and the number of rounds. The client needs
    /// them to compute its proof.
    pub fn first(&self) -> &str {
        &self.server_first
    }

    /// Checks the client's last message, `c=…,r=…,p=…`. Returns the server's last message, or `None` if the password is
    /// wrong.
    pub fn finish(&self, message: &str) -> Result<Option<String>, Malformed> {
        let (without_proof, proof) = message.rsplit_once(",p=").ok_or(Malformed)?;
        let proof = BASE64.decode(proof).ok().and_then(|proof| Key::try_from(proof).ok()).ok_or(Malformed)?;
        let mut attributes = without_proof.split(',');
        let binding = attributes.next().and_then(|binding| binding.strip_prefix("c=")).ok_or(Malformed)?;
        let nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r=")).ok_or(Malformed)?;
        if nonce != self.nonce || BASE64.decode(binding).ok().as_deref() != Some(self.header.as_bytes()) {
            return Err(Malformed);
        }
        let transcript = format!("{},{},{without_proof}", self.client_first, self.server_first);
        let signature = sign(&self.verifier.stored_key, transcript.as_bytes());
        let mut client_key = proof;
        client_key.iter_mut().zip(signature).for_each(|(byte, mask)| *byte ^= mask);
        let right: Choice = hash(&client_key).ct_eq(&self.verifier.stored_key);
        let answer = BASE64.encode(sign(&self.verifier.server_key, transcript.as_bytes()));
        Ok(bool::from(right).then(|| format!("v={answer}")))
    }
}

fn sign(key: &[u8], data: &[u8]) -> Key {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data);
    tag.as_ref().try_into().expect("a SHA-256 tag has 32 bytes")
}

fn hash(data: &[u8]) -> Key {
    digest::digest(&digest::SHA256, data).as_ref().try_into().expect("a SHA-256 digest has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3, with the server's part of the nonce taken from there.
    #[test]
    fn the_example_of_the_standard_is_accepted() {
        let salt = BASE64.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let verifier = Verifier::new("pencil", &salt);
        let mut exchange = Exchange::begin(&verifier, "n,,n=user,r=rOprNGfwEbeRWgbNEkqO", &[]).unwrap();
        exchange.nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0".into();
        exchange.server_first = format!("r={},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", exchange.nonce);
        let last = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        let answer = exchange.finish(last).unwrap();
        assert_eq!(answer.as_deref(), Some("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        let wrong = last.replace("p=d", "p=e");
        assert_eq!(exchange.finish(&wrong), Ok(None));
        let other = Verifier::unsatisfiable(&salt);
        let exchange = Exchange { verifier: &other, ..exchange };
        assert_eq!(exchange.finish(last), Ok(None));
    }

    #[test]
    fn what_is_no_exchange_is_refused() {
        let verifier = Verifier::new("secret", b"salt");
        for first in ["", "n,,", "n,,n=,r=", "p=tls-unique,,n=,r=abc", "n,,r=abc", "x,,n=,r=abc"] {
            assert!(Exchange::begin(&verifier, first, b"nonce").is_err(), "{first}");
        }
        let exchange = Exchange::begin(&verifier, "n,,n=,r=abc", b"nonce").unwrap();
        let nonce = exchange.nonce.clone();
        let proof = BASE64.encode(Key::default());
        for last in [
            String::new(),
            "c=biws".into(),
            format!("c=biws,r={nonce}"),
            format!("c=biws,r={nonce},p=short"),
            format!("c=eSws,r={nonce},p={proof}"),
            format!("c=biws,r={nonce}x,p={proof}"),
        ] {
            assert_eq!(exchange.finish(&last), Err(Malformed), "{last}");
        }
        assert_eq!(exchange.finish(&format!("c=biws,r={nonce},p={proof}")), Ok(None));
    }

    #[test]
    fn verifiers_are_read_as_postgresql_writes_them() {
        let password = Verifier::new("pencil", b"0123456789abcdef");
        let [salt, stored, server] =
            [&password.salt[..], &password.stored_key, &password.server_key].map(|key| BASE64.encode(key));
        let text = format!("SCRAM-SHA-256$4096:{salt}${stored}:{server}");
        let verifier = Verifier::parse(&text).unwrap();
        assert_eq!(verifier.stored_key, password.stored_key);
        for wrong in ["SCRAM-SHA-256$", "SCRAM-SHA-256$0:a$b:c", &text[..text.len() - 4], "md5abc"] {
            assert!(Verifier::parse(wrong).is_none(), "{wrong}");
        }
    }
}
