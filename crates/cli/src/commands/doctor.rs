//! `matins doctor`: runs the checks of the crate `doctor` and prints their findings.

use anstyle::Style;
use doctor::{ConfigurationFile, Finding, Level, LoadedConfiguration, Subject};
use serde_json::json;

use crate::{
    configuration::{self, ConfigPath, Loaded},
    environment,
    failure::{Exit, Failure},
    global::Global,
    output::{ATTENTION, BAD, DIM, GOOD, Output, clean, paint},
};

/// Look at everything and tell what is wrong, without changing anything
///
/// One line for each look: ok, warning or problem, with what to do about it. The exit code is 1 if there
/// is a problem. A large SQLite file takes a while: every page of it is looked at.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Start the agents that automations use, too
    #[arg(long)]
    agents: bool,
}

pub(crate) async fn run(args: Args, global: &Global, output: Output) -> Result<Exit, Failure> {
    let findings = doctor::examine(&subject(global), args.agents).await;
    let number = |level| findings.iter().filter(|it| it.level == level).count();
    let (warnings, problems) = (number(Level::Warning), number(Level::Problem));
    if output.json {
        output.document(&json!({
            "problems": problems, "warnings": warnings, "checks": findings
        }))?;
    } else {
        for finding in &findings {
            output.line(&line(finding))?;
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
fn subject(global: &Global) -> Subject {
    let found = ConfigPath::find(global);
    let (parsed, file) = match found.as_ref().map(|it| (it, it.read())) {
        Some((_, Ok(Some(parsed)))) => {
            let file = ConfigurationFile::Read(parsed.path().to_owned());
            (Some(parsed), file)
        }
        Some((it, Ok(None))) => (None, ConfigurationFile::Missing(it.path.clone())),
        Some((_, Err(failure))) => (None, ConfigurationFile::Unreadable(failure.told())),
        None => (None, ConfigurationFile::Nowhere),
    };
    let Loaded {
        config,
        problems,
        unknown,
    } = Loaded::merge(global, parsed);
    Subject {
        data_folder: configuration::data_folder(&config),
        configuration: LoadedConfiguration {
            config,
            problems,
            unknown,
            file,
        },
        environment: environment::agent_environment(),
        search_path: environment::search_path(),
    }
}

fn line(finding: &Finding) -> String {
    let (style, word): (Style, _) = match finding.level {
        Level::Ok => (GOOD, "ok"),
        Level::Warning => (ATTENTION, "warning"),
        Level::Problem => (BAD, "problem"),
    };
    let one_line = |text: &str| clean(text).split_whitespace().collect::<Vec<_>>().join(" ");
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
