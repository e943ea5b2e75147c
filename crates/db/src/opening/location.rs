//! The address of a database.

use std::{path::PathBuf, str::FromStr};

use sqlx::postgres::PgConnectOptions;

/// The address of a database.
#[derive(Debug, Clone)]
pub enum Location {
    /// A server: `postgres://user@host/database`.
    Postgres(Box<Server>),
    /// A file: `sqlite:///path/to/matins.db`, or the bare path.
    SqliteFile(PathBuf),
    /// In memory: `sqlite::memory:`. The data is lost when the database is closed. Simulations use it.
    SqliteMemory,
}

/// The addresses of a database on a PostgreSQL server.
#[derive(Debug, Clone)]
pub struct Server {
    /// The address for queries, which may be that of a pooler.
    pub(super) options: PgConnectOptions,
    /// The address of the same database without a pooler, for notifications and migrations.
    pub(super) direct: Option<PgConnectOptions>,
}

impl Location {
    /// Returns the same location with a direct address, which bypasses the pooler for notifications and migrations.
    pub fn with_direct(self, address: &str) -> Result<Self, InvalidLocation> {
        let Self::Postgres(mut server) = self else {
            return Err(InvalidLocation::DirectOfFile);
        };
        if !is_postgres_address(address) {
            return Err(InvalidLocation::Direct);
        }
        server.direct = Some(address.parse().map_err(InvalidLocation::Postgres)?);
        Ok(Self::Postgres(server))
    }
}

fn is_postgres_address(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// The reason why a text is not the address of a database. It does not repeat the text, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum InvalidLocation {
    /// The text is empty.
    #[error(
        "the database address is empty, expected `sqlite:///path/to/matins.db`, a path, \
         or `postgres://user@host/database`"
    )]
    Empty,
    /// The text begins with an unknown scheme.
    #[error("unknown scheme `{0}` in the database address, expected `sqlite:` or `postgres:`")]
    Scheme(String),
    /// PostgreSQL's driver does not understand the address.
    #[error("invalid address of the PostgreSQL database")]
    Postgres(#[source] sqlx::Error),
    /// A direct address is configured for a file.
    #[error("a direct address is configured, but only a PostgreSQL database can have one")]
    DirectOfFile,
    /// The direct address is not that of a PostgreSQL server.
    #[error("invalid direct address of the database, expected `postgres://user@host/database`")]
    Direct,
    /// The SQLite address carries parameters.
    #[error("invalid address of the SQLite database: parameters after `?` are not supported")]
    Parameters,
}

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, InvalidLocation> {
        if is_postgres_address(text) {
            let options = text.parse().map_err(InvalidLocation::Postgres)?;
            let direct = None;
            return Ok(Self::Postgres(Box::new(Server { options, direct })));
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
    fn sqlite_address_or_bare_path_is_a_file() {
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
    fn direct_address_is_accepted_for_postgres_only() {
        let server: Location = "postgres://matins@pooler/db".parse().unwrap();
        let direct = "postgres://matins:s3cret@host/db";
        assert!(server.clone().with_direct(direct).is_ok());
        for refused in [
            server.clone().with_direct("/var/lib/matins.db"),
            server.with_direct("postgres://matins:s3cret@host:port/db"),
            Location::SqliteMemory.with_direct(direct),
        ] {
            assert!(!format!("{:#?}", refused.unwrap_err()).contains("s3cret"));
        }
    }

    #[test]
    fn refused_database_address_is_not_in_error() {
        for text in [
            "mysql://matins:s3cret@host/db",
            "postgres://matins:s3cret@host:port/db",
            "sqlite:///matins.db?key=s3cret",
            "",
            "sqlite:",
        ] {
            let error = text.parse::<Location>().unwrap_err();
            let mut message = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                message.push_str(&cause.to_string());
                source = cause.source();
            }
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}
