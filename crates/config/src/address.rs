//! Addresses of databases. `Display` and `Debug` mask their passwords.

use std::fmt;

use crate::PathBase;

/// The replacement of a secret.
const MASK: &str = "***";
/// The parameters of an address that are never secret. The values of all other parameters are masked.
const PUBLIC_PARAMETERS: [&str; 9] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "port",
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "user",
];

/// The address of a database. `Display` and `Debug` write it without its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the address with its password.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// `true` if the address has a part that is masked.
    pub fn has_secret(&self) -> bool {
        self.to_string() != self.0
    }

    /// Returns the address with a relative path of a file resolved against `base`.
    ///
    /// # Errors
    ///
    /// Returns an error if the path cannot be resolved, or is not UTF-8.
    pub(crate) fn resolve_against(&self, base: PathBase<'_>) -> Result<Self, String> {
        let path = match self.0.strip_prefix("sqlite:") {
            Some(":memory:") => return Ok(self.clone()),
            Some(rest) => rest.strip_prefix("//").unwrap_or(rest),
            None if self.0.contains("://") => return Ok(self.clone()),
            None => &self.0,
        };
        let scheme = &self.0[..self.0.len() - path.len()];
        let path = base.resolve(path)?;
        let path = path.to_str().ok_or("the file's folder is not UTF-8")?;
        Ok(Self(format!("{scheme}{path}")))
    }
}

impl fmt::Display for Address {
    /// Writes the address with all possible secrets masked. In doubt it masks too much, because a password may
    /// contain any character, encoded or not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            return f.write_str(&self.0);
        };
        write!(f, "{scheme}://")?;
        let (authority, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        if parameters.contains('@') {
            // A password with an unencoded `?` may continue here, so no part of the rest can be shown.
            return f.write_str(MASK);
        }
        // The last `@` ends the credentials, because a password may contain an unencoded `@`.
        let location = match authority.rsplit_once('@') {
            Some((credentials, location)) => {
                match credentials.split_once(':') {
                    Some((user, _)) => write!(f, "{user}:{MASK}@")?,
                    None => write!(f, "{credentials}@")?,
                }
                location
            }
            None => authority,
        };
        write!(f, "{location}")?;
        let parameters = parameters
            .split('&')
            .filter(|parameter| !parameter.is_empty());
        for (index, parameter) in parameters.enumerate() {
            let before = if index == 0 { '?' } else { '&' };
            match parameter.split_once('=') {
                Some((name, value)) if PUBLIC_PARAMETERS.contains(&name) => {
                    write!(f, "{before}{name}={value}")?;
                }
                Some((name, _)) => write!(f, "{before}{name}={MASK}")?,
                None => write!(f, "{before}{MASK}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn password_is_masked_in_database_address() {
        for (address, shown) in [
            ("postgres://me:s3cret@host/db", "postgres://me:***@host/db"),
            (
                "postgres://me:s3c@ret/x@host/db",
                "postgres://me:***@host/db",
            ),
            ("postgres://me:s3c?ret@host/db", "postgres://***"),
            ("postgres://h/db?password=s3@cret", "postgres://***"),
            ("postgres://me@host/db", "postgres://me@host/db"),
            ("postgres://:s3cret@host", "postgres://:***@host"),
            (
                "postgres://host/db?user=me&password=s3cret&sslmode=require",
                "postgres://host/db?user=me&password=***&sslmode=require",
            ),
            (
                "postgres://host/db?p%61ssword=s3cret",
                "postgres://host/db?p%61ssword=***",
            ),
            ("postgres://host/db?s3cret", "postgres://host/db?***"),
            ("mysql://me:s3cret@host/db", "mysql://me:***@host/db"),
            ("/var/lib/a:b@c.db", "/var/lib/a:b@c.db"),
        ] {
            let parsed = Address::new(address);
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(format!("{parsed:?}"), shown);
            assert_eq!(parsed.has_secret(), shown.contains(MASK));
        }
    }

    #[test]
    fn relative_database_path_resolves_against_config_folder() {
        let base = PathBase {
            folder: Path::new("/etc/matins"),
            home: Some(Path::new("/h")),
        };
        for (given, meant) in [
            ("matins.db", "/etc/matins/matins.db"),
            ("sqlite:matins.db", "sqlite:/etc/matins/matins.db"),
            ("sqlite:///var/matins.db", "sqlite:///var/matins.db"),
            ("sqlite::memory:", "sqlite::memory:"),
            ("~/matins.db", "/h/matins.db"),
            ("postgres://host/db", "postgres://host/db"),
        ] {
            let address = Address::new(given).resolve_against(base).unwrap();
            assert_eq!(address.reveal(), meant);
        }
    }
}
