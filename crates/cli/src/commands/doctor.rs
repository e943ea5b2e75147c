//! `matins doctor`: runs the checks of the crate `doctor` and prints their findings.

use anstyle::Style;
use doctor::{ConfigurationFile, DoctorInput, Finding, Level, LoadedConfiguration};
use serde_json::json;

use crate::{
    configuration::{self, ConfigPath, LoadedConfig},
    environment,
    error::{CliError, Exit},
    global::Global,
    output::{ATTENTION, BAD, DIM, GOOD, Output, one_line, paint},
};

/// Check the configuration, the machine, the data folder and the database, without changing anything
///
/// Prints one line for each check: ok, warning or problem, with the next step. The exit code is 1 if there is
/// a problem. A large SQLite file takes a while, because the check reads every page of it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also start the agents that automations use
    #[arg(long)]
    agents: bool,
}

pub(crate) async fn run(args: Args, global: &Global, output: Output) -> Result<Exit, CliError> {
    let findings = doctor::examine(&doctor_input(global), args.agents).await;
    let number = |level| findings.iter().filter(|it| it.level == level).count();
    let (warnings, problems) = (number(Level::Warning), number(Level::Problem));
    if output.json {
        output.document(&json!({
            "problems": problems, "warnings": warnings, "checks": findings
        }))?;
    } else {
        for finding in &findings {
            output.line(&format_finding(finding))?;
        }
        output.aside(&format!("Problems: {problems}. Warnings: {warnings}."));
    }
    Ok(if problems == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Collects the inputs of the checks. Does not fail if the configuration is invalid, because the doctor reports that.
fn doctor_input(global: &Global) -> DoctorInput {
    let found = ConfigPath::find(global);
    let (parsed, file) = match found.as_ref().map(|it| (it, it.read())) {
        Some((_, Ok(Some(parsed)))) => {
            let file = ConfigurationFile::Read(parsed.path().to_owned());
            (Some(parsed), file)
        }
        Some((it, Ok(None))) => (None, ConfigurationFile::Missing(it.path.clone())),
        Some((_, Err(failure))) => (None, ConfigurationFile::Unreadable(failure.full_message())),
        None => (None, ConfigurationFile::NoDefaultPath),
    };
    let LoadedConfig {
        config,
        problems,
        unknown_variables: unknown,
    } = LoadedConfig::merge(global, parsed);
    DoctorInput {
        data_folder: configuration::data_folder(&config),
        configuration: LoadedConfiguration {
            config,
            problems,
            unknown_variables: unknown,
            file,
        },
        environment: environment::agent_environment(),
        search_path: environment::search_path(),
    }
}

fn format_finding(finding: &Finding) -> String {
    let (style, word): (Style, _) = match finding.level {
        Level::Ok => (GOOD, "ok"),
        Level::Warning => (ATTENTION, "warning"),
        Level::Problem => (BAD, "problem"),
    };
    let remedy = finding
        .remedy
        .as_deref()
        .map_or_else(String::new, |remedy| {
            paint(DIM, &format!(" ({})", one_line(remedy)))
        });
    let word = paint(style, &format!("{word:<8}"));
    format!(
        "{word} {}: {}{remedy}",
        one_line(&finding.check),
        one_line(&finding.found)
    )
}
