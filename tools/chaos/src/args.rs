//! The command line arguments of `cargo xtask chaos`.

use std::path::PathBuf;

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
    /// Number of servers that share the database
    #[arg(long, default_value_t = 3)]
    pub(crate) replicas: usize,
    /// Number of instances in folders, each with a runtime and in another tenant; none in a test of an upgrade
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=2))]
    pub(crate) runtimes: u8,
    /// Offset of the last server's clock in minutes, and in the other direction of the last runtime's; 0 for a correct clock
    #[arg(long, default_value_t = 10, allow_hyphen_values = true)]
    pub(crate) clock_off: i32,
    /// Number of goals, each with five seats and twenty tasks. The faults go on until each goal has been started
    #[arg(long, default_value_t = 4)]
    pub(crate) goals: usize,
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
