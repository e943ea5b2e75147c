//! `matins config`: shows and checks the configuration.

use std::path::PathBuf;

use clap::Subcommand;
use config::{Config, ConfigProblem, DisplayValue, EffectiveSetting};
use serde_json::{Value, json};

use crate::{
    configuration::{self, ConfigPath, LoadedConfig},
    error::{CliError, Exit},
    global::Global,
    output::{Output, clean, table},
};

/// Show and check the configuration
#[derive(Debug, clap::Args)]
#[command(args = crate::global::server_flags())]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the effective value of every setting
    Show {
        /// Also show the source of each value: the default, a line of the file, a variable or a flag
        #[arg(long)]
        origin: bool,
    },
    /// Print the path of the configuration file
    Path,
    /// Report all problems of a configuration
    Check {
        /// A file to check alone [default: the file of the configuration, the variables and the flags]
        #[arg(value_hint = clap::ValueHint::FilePath)]
        file: Option<PathBuf>,
    },
    /// Print the reference of all settings, in Markdown
    Reference,
}

pub(crate) fn run(args: Args, global: &Global, output: Output) -> Result<Exit, CliError> {
    match args.command {
        Command::Show { origin } => show(global, output, origin)?,
        Command::Path => print_path(global, output)?,
        Command::Check { file } => return check(global, output, file),
        Command::Reference if output.json => {
            output.document(&json!({ "page": config::reference_page() }))?;
        }
        Command::Reference => output.piece(&config::reference_page())?,
    }
    Ok(Exit::Done)
}

fn show(global: &Global, output: Output, origin: bool) -> Result<(), CliError> {
    let config = LoadedConfig::load(global)?.into_valid()?.config;
    let shown = config.effective_settings();
    if output.json {
        let settings: Vec<_> = shown
            .iter()
            .map(|shown| setting_json(&config, shown))
            .collect();
        return Ok(output.document(&settings)?);
    }
    let value = |shown: &EffectiveSetting| match effective_value(&config, shown) {
        Some(value) => clean(&value.to_string()).into_owned(),
        None => format!("({})", shown.setting.kind.default_text()),
    };
    let text = if origin {
        let rows = shown.iter().map(|shown| {
            let origin = clean(&shown.origin.to_string()).into_owned();
            [shown.setting.name.into(), value(shown), origin]
        });
        table(["NAME", "VALUE", "ORIGIN"], rows)
    } else {
        let rows = shown
            .iter()
            .map(|shown| [shown.setting.name.into(), value(shown)]);
        table(["NAME", "VALUE"], rows)
    };
    Ok(output.line(&text)?)
}

/// Returns the effective value of a setting, including defaults that depend on the home directory.
fn effective_value(config: &Config, shown: &EffectiveSetting) -> Option<DisplayValue> {
    if shown.value.is_some() {
        return shown.value.clone();
    }
    let folder = configuration::data_folder(config)?;
    let path = match shown.setting.name {
        "data" => folder,
        "database" => folder.join(server::DATABASE_FILE_NAME),
        _ => return None,
    };
    Some(DisplayValue::Text(path.display().to_string()))
}

fn setting_json(config: &Config, shown: &EffectiveSetting) -> Value {
    let setting = shown.setting;
    json!({
        "name": setting.name,
        "value": effective_value(config, shown).map(|value| match value {
            DisplayValue::Number(number) => json!(number),
            DisplayValue::Bool(switch) => json!(switch),
            DisplayValue::Text(text) => json!(text),
        }),
        "origin": configuration::origin_json(&shown.origin),
        "default": setting.kind.default_text(),
        "accepted": setting.kind.accepted(),
        "environment": setting.environment,
        "flag": format!("--{}", setting.flag),
        "about": setting.about,
    })
}

fn print_path(global: &Global, output: Output) -> Result<(), CliError> {
    let found = ConfigPath::find(global).ok_or_else(|| {
        let message = "there is no default configuration file: HOME is not set";
        CliError::message(Exit::Environment, message).with_hint("name one with `--config`")
    })?;
    let exists = found.path.exists();
    if output.json {
        return Ok(output.document(&json!({
            "path": found.path, "exists": exists, "named_by": found.named_by
        }))?);
    }
    output.line(&found.path.display().to_string())?;
    if !exists {
        output.aside("The file does not exist.");
    }
    Ok(())
}

fn check(global: &Global, output: Output, file: Option<PathBuf>) -> Result<Exit, CliError> {
    let (problems, unknown) = if let Some(path) = file {
        let problems = configuration::file_problems(configuration::read_file_to_check(&path)?);
        (problems, Vec::new())
    } else {
        let loaded = LoadedConfig::load(global)?;
        (loaded.problems, loaded.unknown_variables)
    };
    let warnings: Vec<_> = unknown
        .iter()
        .map(configuration::format_unknown_variable)
        .collect();
    let exit = if problems.is_empty() {
        Exit::Done
    } else {
        Exit::Usage
    };
    if output.json {
        let messages: Vec<_> = problems.iter().map(ConfigProblem::to_string).collect();
        output.document(&json!({ "problems": messages, "warnings": warnings }))?;
        return Ok(exit);
    }
    if problems.is_empty() {
        output.line("The configuration is valid.")?;
    }
    for problem in &problems {
        output.line(&clean(&problem.to_string()))?;
    }
    for warning in &warnings {
        output.aside(&clean(warning));
    }
    Ok(exit)
}
