//! What is asked of chaos.

use std::path::PathBuf;

use serde_json::Value;

/// Let everything go wrong, and check that nothing is lost and nothing happens twice
#[derive(Debug, clap::Args)]
pub struct Args {
    /// For how long things go wrong; 0.5 is half a minute
    #[arg(long, default_value_t = 2.0)]
    pub(crate) minutes: f64,
    /// What decides about chance; a random one unless it is named
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Servers that share the database
    #[arg(long, default_value_t = 3)]
    pub(crate) replicas: usize,
    /// By how many minutes the clock of the last server is off; 0 for a clock that is right
    #[arg(long, default_value_t = 10, allow_hyphen_values = true)]
    pub(crate) clock_off: i32,
    /// A folder with the programs matins and matins-testkit; without it they are built
    #[arg(long)]
    pub(crate) programs: Option<PathBuf>,
    /// The program matins of an earlier version: servers are started with it and with this one by turns
    #[arg(long)]
    pub(crate) earlier: Option<PathBuf>,
    /// Policies in JSON that the earlier version does not know: each makes an automation of each tenant. The servers
    /// are all of this version before everything comes to its end
    #[arg(long, requires = "earlier", value_parser = policies)]
    pub(crate) later_policies: Vec<Value>,
    /// Keep the folder, whatever is found
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Reads an argument that holds policies.
fn policies(argument: &str) -> Result<Value, String> {
    match serde_json::from_str(argument) {
        Ok(Value::Object(policies)) => Ok(Value::Object(policies)),
        Ok(_) => Err("an object is expected, such as {\"queue_limit\": 3}".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
