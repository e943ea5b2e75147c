//! Where a database is.

use std::{path::PathBuf, str::FromStr};

use sqlx::postgres::PgConnectOptions;

/// Where a database is.
#[derive(Debug, Clone)]
pub enum Location {
    /// A server: `postgres://user@host/database`.
    Postgres(Box<PgConnectOptions>),
    /// A file: `sqlite:///path/to/matins.db`, or the bare path.
    SqliteFile(PathBuf),
    /// Nowhere: `sqlite::memory:`, gone when it is closed. For simulations.
    SqliteMemory,
}

/// Why a text says no place of a database. Addresses may hold passwords, so it is not repeated.
#[derive(Debug, thiserror::Error)]
pub enum InvalidLocation {
    /// The text is empty.
    #[error(
        "read the database's address: it is empty, expected `sqlite:///path/to/matins.db`, a path, \
         or `postgres://user@host/database`"
    )]
    Empty,
    /// The text begins with an unknown scheme.
    #[error(
        "read the database's address: the scheme {0:?} is unknown, expected `sqlite:` or `postgres:`"
    )]
    Scheme(String),
    /// PostgreSQL's driver does not understand the address.
    #[error("read the address of the PostgreSQL database")]
    Postgres(#[source] sqlx::Error),
    /// The SQLite address carries parameters.
    #[error("read the address of the SQLite database: parameters after `?` are not supported")]
    Parameters,
}

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, InvalidLocation> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            let options = text.parse().map_err(InvalidLocation::Postgres)?;
            return Ok(Self::Postgres(Box::new(options)));
        }
        let path = match text.strip_prefix("sqlite:") {
            Some(":memory:") => return Ok(Self::SqliteMemory),
            Some(rest) if rest.contains('?') => return Err(InvalidLocation::Parameters),
            Some(rest) => rest.strip_prefix("//").unwrap_or(rest),
            None => match text.split_once("://") {
                Some((scheme, _)) => return Err(InvalidLocation::Scheme(scheme.to_owned())),
                None => text,
            },
        };
        if path.is_empty() {
            return Err(InvalidLocation::Empty);
        }
        Ok(Self::SqliteFile(path.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn addresses_and_bare_paths_name_a_file() {
        for (text, expected) in [
            ("sqlite:///var/lib/matins.db", "/var/lib/matins.db"),
            ("sqlite:matins.db", "matins.db"),
            ("/var/lib/100% matins?.db", "/var/lib/100% matins?.db"),
            ("matins.db", "matins.db"),
        ] {
            let Ok(Location::SqliteFile(path)) = text.parse() else {
                panic!("{text} is a file");
            };
            assert_eq!(path, Path::new(expected));
        }
        assert!(matches!(
            "sqlite::memory:".parse(),
            Ok(Location::SqliteMemory)
        ));
    }

    #[test]
    fn a_refused_address_is_not_repeated() {
        for text in [
            "mysql://matins:s3cret@host/db",
            "postgres://matins:s3cret@host:port/db",
            "sqlite:///matins.db?key=s3cret",
            "",
            "sqlite:",
        ] {
            let error = text.parse::<Location>().unwrap_err();
            let mut told = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                told.push_str(&cause.to_string());
                source = cause.source();
            }
            assert!(!told.contains("s3cret"), "{told}");
        }
    }
}
