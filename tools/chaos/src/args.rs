//! The command line arguments of `cargo xtask chaos`.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use serde_json::Value;

/// Inject faults into servers, agents and the database, and check that no work is lost or done twice
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Duration of the faults in minutes; 0.5 is half a minute
    #[arg(long, default_value_t = 2.0)]
    pub(crate) minutes: f64,
    /// Seed of all random choices; a random seed by default
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Database of the servers
    #[arg(long, value_enum, default_value_t = DatabaseKind::Postgres)]
    pub(crate) database: DatabaseKind,
    /// Number of servers that share the database; by default 3 on PostgreSQL, and always 1 on SQLite
    #[arg(long)]
    replicas: Option<usize>,
    /// Number of instances in folders, each with a runtime and in another tenant; none in a test of an upgrade
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) runtimes: u8,
    /// Offset of the last server's clock in minutes, and in the other direction of the last runtime's; 0 for a correct clock.
    /// On SQLite only that of the runtime
    #[arg(long, default_value_t = 10, allow_hyphen_values = true)]
    pub(crate) clock_off: i32,
    /// Number of goals, each with five seats and twenty tasks. The faults go on until each goal has been started
    #[arg(long, default_value_t = 4)]
    pub(crate) goals: usize,
    /// Number of goals that are under way at once
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=50))]
    pub(crate) goals_at_once: u8,
    /// Number by which the periods of automations on servers and the pauses of people are multiplied
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=10))]
    pub(crate) slowdown: u8,
    /// Folder with the programs matins and matins-testkit; cargo builds them by default
    #[arg(long)]
    pub(crate) programs: Option<PathBuf>,
    /// The program matins of an earlier version; the starts of each server alternate between it and this version
    #[arg(long)]
    pub(crate) earlier: Option<PathBuf>,
    /// Policies in JSON that the earlier version does not know; each creates one automation in each tenant. After the
    /// last fault, all servers are restarted with this version
    #[arg(long, requires = "earlier", value_parser = policies)]
    pub(crate) later_policies: Vec<Value>,
    /// Break a guarantee around the product, and require that this check finds it
    #[arg(long = "break", value_name = "CHECK", conflicts_with = "earlier")]
    pub(crate) defect: Option<Defect>,
    /// Keep the folder even if all checks hold
    #[arg(long)]
    pub(crate) keep: bool,
}

/// The kind of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DatabaseKind {
    /// A server, which the replicas share.
    Postgres,
    /// A file in the data folder of one server.
    Sqlite,
}

impl DatabaseKind {
    /// Returns the name for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Sqlite => "SQLite",
        }
    }
}

impl Args {
    /// Checks the options together, and returns the number of servers.
    ///
    /// # Errors
    ///
    /// Returns an error if the database does not permit the number of servers, or a test of an upgrade.
    pub(crate) fn replica_count(&self) -> Result<usize> {
        let on_sqlite = self.database == DatabaseKind::Sqlite;
        let count = self.replicas.unwrap_or(if on_sqlite { 1 } else { 3 });
        ensure!(
            count > 0,
            "invalid `--replicas` 0: at least one replica is needed"
        );
        ensure!(
            count == 1 || !on_sqlite,
            "invalid `--replicas` {count}: a SQLite file belongs to one server; use `--database postgres` for several"
        );
        // A server refuses the file of a later version, so that the two versions cannot alternate.
        ensure!(
            self.earlier.is_none() || !on_sqlite,
            "`--earlier` needs servers that share a database; use `--database postgres`"
        );
        Ok(count)
    }
}

/// A guarantee that the test breaks on purpose, by the check that must find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Defect {
    /// Each request that a runtime sends for the file of another program has an idempotency key of its own.
    Folders,
    /// A finished task of a goal becomes ready again.
    Goals,
}

impl Defect {
    /// Returns the name of the check that must find the defect.
    pub(crate) const fn check(self) -> &'static str {
        match self {
            Self::Folders => "folders",
            Self::Goals => "goals",
        }
    }
}

/// Parses the policies of one `--later-policies` argument, which must be a JSON object.
fn policies(argument: &str) -> Result<Value, String> {
    match serde_json::from_str(argument) {
        Ok(Value::Object(policies)) => Ok(Value::Object(policies)),
        Ok(_) => Err("an object is expected, such as {\"queue_limit\": 3}".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    /// Returns the number of servers of a command, or the error as text.
    fn replica_count(options: &str) -> Result<usize, String> {
        let command = Command::try_parse_from(options.split_whitespace());
        let args = command.unwrap().args;
        args.replica_count().map_err(|error| error.to_string())
    }

    #[test]
    fn sqlite_file_has_one_server() {
        assert_eq!(replica_count("chaos"), Ok(3));
        assert_eq!(replica_count("chaos --replicas 5"), Ok(5));
        assert_eq!(replica_count("chaos --database sqlite"), Ok(1));
        assert_eq!(replica_count("chaos --database sqlite --replicas 1"), Ok(1));
        let error = replica_count("chaos --database sqlite --replicas 2").unwrap_err();
        assert!(
            error.contains("a SQLite file belongs to one server"),
            "{error}"
        );
    }

    #[test]
    fn impossible_combinations_are_refused() {
        let error = replica_count("chaos --replicas 0").unwrap_err();
        assert!(error.contains("at least one replica"), "{error}");
        let error = replica_count("chaos --database sqlite --earlier matins").unwrap_err();
        assert!(error.contains("`--earlier` needs"), "{error}");
    }
}
