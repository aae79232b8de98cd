//! The server's certificate and key for TLS.

use crate::{ServerError, TlsFiles};
use hotrow_sync::Arc;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Loads the server's certificate and key, and makes the configuration of its TLS connections. Clients are not asked
/// for certificates.
///
/// # Errors
/// [`ServerError::Tls`] if a file cannot be read or is not in PEM format, or if the key does not belong to the
/// certificate.
pub fn load_tls(files: &TlsFiles) -> Result<Arc<ServerConfig>, ServerError> {
    let unusable = |path: &std::path::Path, error: &dyn std::fmt::Display| {
        ServerError::Tls(format!("{}: {error}; expected a PEM file", path.display()))
    };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unusable(&files.certificate, &error))?;
    if certificates.is_empty() {
        return Err(unusable(&files.certificate, &"it holds no certificate"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| unusable(&files.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(|error| ServerError::Tls(error.to_string()))?;
    Ok(Arc::new(config))
}
