//! Checks the database: whether it answers, which schema version it has, and whether it is intact.

use std::{path::Path, time::Duration};

use config::Config;
use server::{DATABASE_FILE_NAME, DataFolder};
use store::{Database, DatabaseExamination, Location, OpenError};
use tokio::time::timeout;

use crate::{
    finding::Finding,
    folder::is_open_to_others,
    formatting::{format_bytes, with_sources},
};

const CHECK: &str = "database";
/// The maximum time for a database server to answer.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(20);

/// A database that is open for reading.
pub(crate) struct OpenedDatabase {
    pub(crate) database: Database,
}

/// Checks the database and adds findings. Returns the database opened for reading. Returns `None` if it does not
/// exist, cannot be opened, or has another schema version than this program.
pub(crate) async fn check_database(
    config: &Config,
    path: Option<&Path>,
    folder: Option<&DataFolder>,
    findings: &mut Vec<Finding>,
) -> Option<OpenedDatabase> {
    // An invalid address is already a finding of the configuration, and a missing path one of the data folder.
    let location = match server::database_location(config).ok()? {
        Some(location) => location,
        None => Location::SqliteFile(match folder {
            Some(folder) => folder.database_path(),
            None => path?.join(DATABASE_FILE_NAME),
        }),
    };
    let shown = match (&location, &config.database.value) {
        (Location::SqliteFile(file), _) => file.display().to_string(),
        (_, Some(address)) => address.to_string(),
        (_, None) => "the database".to_owned(),
    };
    // The check of a large SQLite file reads every page, so it may take long without any fault.
    let time_limit = match location {
        Location::SqliteFile(_) => Duration::MAX,
        _ => DATABASE_TIMEOUT,
    };
    let Ok(examined) = timeout(time_limit, store::examine(&location)).await else {
        let found = format!("{shown} did not answer within {} s", time_limit.as_secs());
        findings.push(Finding::problem(
            CHECK,
            found,
            "check that the database server runs",
        ));
        return None;
    };
    match examined {
        Ok(None) => {
            let found = format!("{shown} does not exist yet; the first command creates it");
            findings.push(Finding::ok(CHECK, found));
            None
        }
        Ok(Some(examined)) => {
            findings.push(database_finding(&location, &shown, &examined));
            // The queries of the later checks fit the latest schema alone, and the doctor must not migrate.
            if examined.version != examined.latest {
                return None;
            }
            open_for_reading(&location, &shown, findings).await
        }
        Err(error) => {
            findings.push(open_error_finding(&shown, &error));
            None
        }
    }
}

fn database_finding(location: &Location, shown: &str, examined: &DatabaseExamination) -> Finding {
    let DatabaseExamination {
        program,
        version,
        latest,
        bytes: size,
    } = examined;
    let state = match (version, location) {
        (0, _) => "empty; the first command creates the schema".to_owned(),
        (version, _) if version < latest => {
            format!("schema {version} of {latest}; the next command upgrades it")
        }
        (version, Location::Postgres(_)) => format!("schema {version}"),
        (version, _) => format!("schema {version}, every page intact"),
    };
    let found = format!("{shown}: {program}, {}, {state}", format_bytes(*size));
    match location {
        Location::SqliteFile(file) if is_open_to_others(file) => {
            let found = format!("{found}; other users can read it");
            Finding::warning(CHECK, found, format!("run `chmod 600 {}`", file.display()))
        }
        _ => Finding::ok(CHECK, found),
    }
}

async fn open_for_reading(
    location: &Location,
    shown: &str,
    findings: &mut Vec<Finding>,
) -> Option<OpenedDatabase> {
    match store::open_read_only(location).await {
        Ok(database) => Some(OpenedDatabase { database }),
        Err(error) => {
            findings.push(open_error_finding(shown, &error));
            None
        }
    }
}

fn open_error_finding(shown: &str, error: &OpenError) -> Finding {
    let remedy = error.hint().unwrap_or("check the log of the database");
    Finding::problem(CHECK, format!("{shown}: {}", with_sources(error)), remedy)
}
