//! The TLS of outgoing connections over HTTP: webhooks, traces, and commands that use a server of another machine.
//!
//! **Invariant:** the certificates of the operating system alone are trusted if there are any, so that an administrator
//! decides about them. The certificates that Mozilla trusts are part of the program for machines without any, such as a
//! container that has nothing but the program.

use std::sync::Arc;

pub use rustls::ClientConfig;

use rustls::{RootCertStore, crypto::ring};
use rustls_native_certs::CertificateResult;

/// The protocol that is negotiated (RFC 7301).
const HTTP_1_1: &[u8] = b"http/1.1";

/// The error of a configuration that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificates of the operating system cannot be read, or none of them is valid.
    #[error(
        "no trusted certificate can be read; `SSL_CERT_FILE` must name a file and `SSL_CERT_DIR` folders with \
         certificates in PEM format, if they are set"
    )]
    Certificates(#[source] Option<rustls_native_certs::Error>),
    /// The library refuses its versions of the protocol.
    #[error("cannot set up TLS")]
    Protocol(#[from] rustls::Error),
}

/// Returns a configuration that trusts the certificates of `SSL_CERT_FILE` and `SSL_CERT_DIR` if one of them is set,
/// otherwise those of the operating system, and those of Mozilla if there are none at all.
///
/// # Errors
///
/// Returns an error if certificates exist but none can be used.
pub fn client_config() -> Result<ClientConfig, TlsError> {
    config_with_roots(trusted_roots(rustls_native_certs::load_native_certs())?)
}

/// Returns a configuration that trusts no certificate. It is for clients that do not use TLS, because it saves the time
/// to read the certificates.
///
/// # Errors
///
/// Returns an error if the library refuses its versions of the protocol.
pub fn client_config_without_trust() -> Result<ClientConfig, TlsError> {
    config_with_roots(RootCertStore::empty())
}

fn config_with_roots(roots: RootCertStore) -> Result<ClientConfig, TlsError> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(config)
}

fn trusted_roots(found: CertificateResult) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    let is_without_certificates = found.certs.is_empty() && found.errors.is_empty();
    if is_without_certificates {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    }
    // A certificate that cannot be used is left out, because operating systems have old ones.
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        return Err(TlsError::Certificates(found.errors.into_iter().next()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use std::{error::Error as _, fs, path::Path};

    use rustls_native_certs::load_certs_from_paths;

    use super::*;

    /// Returns the roots that are trusted if the operating system has its certificates in a file or a folder.
    fn roots_of(file: Option<&Path>, folder: Option<&Path>) -> Result<RootCertStore, TlsError> {
        trusted_roots(load_certs_from_paths(file, folder))
    }

    #[test]
    fn system_without_certificates_trusts_those_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        for found in [roots_of(None, None), roots_of(None, Some(folder.path()))] {
            assert_eq!(found.unwrap().len(), webpki_roots::TLS_SERVER_ROOTS.len());
        }
    }

    #[test]
    fn system_with_certificates_trusts_these_alone() {
        let roots = roots_of(Some(Path::new("src/test-certificate.pem")), None).unwrap();
        assert_eq!(roots.len(), 1);
    }

    #[test]
    fn unreadable_certificates_are_refused_with_their_path() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing.pem");
        let error = roots_of(Some(&missing), None).unwrap_err();
        let source = error.source().unwrap().to_string();
        assert!(source.contains(missing.to_str().unwrap()), "{source}");
    }

    #[test]
    fn corrupt_certificates_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let corrupt = folder.path().join("corrupt.pem");
        let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        fs::write(&corrupt, text).unwrap();
        assert!(roots_of(Some(&corrupt), None).is_err());
    }

    #[test]
    fn configurations_can_be_made() {
        client_config_without_trust().unwrap();
        assert_eq!(client_config().unwrap().alpn_protocols, [HTTP_1_1]);
    }
}
