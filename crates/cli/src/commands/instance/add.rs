//! `matins instance add`, `check` and `rotate-token`: instances with a folder that a runtime watches.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use api_types::{AddedInstanceKind, Instance, InstanceRequest, RuntimeToken};
use clap::ValueEnum;

use crate::{
    app::App,
    commands::sign_in,
    error::{CliError, Exit},
    output::{BOLD, excerpt, paint},
    secret_file,
};

#[derive(Debug, clap::Args)]
pub(super) struct AddArgs {
    /// The name of the instance
    name: String,
    /// The kind of the instance: directory
    #[arg(long, value_enum)]
    kind: Kind,
    /// The absolute path of the folder at which servers write trigger files
    #[arg(long, value_name = "PATH")]
    folder: String,
    /// The absolute path of the same folder on the machine of the runtime [default: the path of --folder]
    #[arg(long, value_name = "PATH")]
    runtime_folder: Option<String>,
    /// The new file for the token of the runtime, written with mode 0600 [default: NAME.token]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// The kinds of instances that a person can add.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    /// A folder that `matins runtime` watches
    Directory,
}

/// Adds an instance, and writes the token of its runtime.
pub(super) async fn add(app: &App, args: AddArgs) -> Result<(), CliError> {
    let path = token_path(args.token_file, &args.name)?;
    // Look before the request, because the secret would be lost with the file.
    if fs::symlink_metadata(&path).is_ok() {
        let message = format!("the file {} exists", path.display());
        return Err(CliError::message(Exit::Refused, message)
            .with_hint("remove it, or name another one with --token-file"));
    }
    let Kind::Directory = args.kind;
    let request = InstanceRequest {
        name: args.name,
        kind: AddedInstanceKind::Directory,
        folder: args.folder,
        runtime_folder: args.runtime_folder,
    };
    let added = app.client.add_instance(&request).await?;
    let secret = secret_of(&added)?;
    if let Err(source) = secret_file::create(&path, secret) {
        return Err(unwritten(&path, source, &added.instance));
    }
    if app.output.json {
        return Ok(app.output.document(&added.instance)?);
    }
    let instance = &added.instance;
    let name = excerpt(&instance.name, 80);
    app.output
        .line(&format!("Added {}  {}", paint(BOLD, &name), instance.id))?;
    app.output
        .line(&format!("  token       {}", path.display()))?;
    app.output
        .aside("Start its runtime on the machine with the folder:");
    app.output.aside(&runtime_command(app, instance, &path));
    Ok(())
}

/// Replaces the token of a runtime, and writes it.
pub(super) async fn rotate_token(
    app: &App,
    given: &str,
    token_file: Option<PathBuf>,
) -> Result<(), CliError> {
    let instance = app.client.instance(given).await?;
    let path = token_path(token_file, &instance.name)?;
    let rotated = app
        .client
        .rotate_runtime_token(&instance.id.to_string())
        .await?;
    let secret = secret_of(&rotated)?;
    if let Err(source) = secret_file::replace(&path, secret) {
        return Err(unwritten(&path, source, &instance));
    }
    if app.output.json {
        return Ok(app.output.document(&rotated.instance)?);
    }
    let name = excerpt(&instance.name, 80);
    app.output.line(&format!(
        "The token of {name} is replaced: {}",
        path.display()
    ))?;
    app.output
        .aside("A runtime with the earlier token is refused. Start it again with the new one.");
    Ok(())
}

/// Checks an instance and prints the findings. The command fails if something needs to be mended.
pub(super) async fn check(app: &App, given: &str) -> Result<Exit, CliError> {
    let checked = app.client.check_instance(given).await?;
    let is_sound = checked.findings.iter().all(|finding| finding.ok);
    if app.output.json {
        app.output.document(&checked)?;
    } else {
        for finding in &checked.findings {
            let mark = if finding.ok { "ok  " } else { "fail" };
            let message = excerpt(&finding.message, 300);
            app.output
                .line(&format!("{mark}  {:8}{message}", finding.check))?;
            if let Some(hint) = &finding.hint {
                app.output
                    .line(&format!("              {}", excerpt(hint, 300)))?;
            }
        }
    }
    Ok(if is_sound { Exit::Done } else { Exit::Failed })
}

/// Returns the file for the token of an instance.
fn token_path(given: Option<PathBuf>, name: &str) -> Result<PathBuf, CliError> {
    match given {
        Some(path) => Ok(path),
        None if name.contains('/') || name.starts_with('.') => Err(CliError::message(
            Exit::Usage,
            "the name of the instance cannot be the name of a file",
        )
        .with_hint("name the file for the token with --token-file")),
        None => Ok(PathBuf::from(format!("{name}.token"))),
    }
}

fn secret_of(made: &RuntimeToken) -> Result<&str, CliError> {
    made.secret.as_deref().ok_or_else(|| {
        let message = "the instance was added, but the secret of its token was lost in transit";
        let id = made.instance.id;
        CliError::message(Exit::Failed, message).with_hint(format!(
            "`matins instance rotate-token {id}` makes another one"
        ))
    })
}

fn unwritten(path: &Path, source: io::Error, instance: &Instance) -> CliError {
    let message = format!(
        "cannot write the token of {} into the file {}",
        instance.name,
        path.display()
    );
    CliError::environment(message, source).with_hint(format!(
        "`matins instance rotate-token {} --token-file FILE` makes another one",
        instance.id
    ))
}

/// Returns the command that starts the runtime of an instance.
fn runtime_command(app: &App, instance: &Instance, token_file: &Path) -> String {
    let folder = instance
        .runtime_folder
        .as_ref()
        .or(instance.folder.as_ref());
    let server = sign_in::network_address(app).unwrap_or_else(|_| "URL".to_owned());
    let token_file = token_file.to_string_lossy();
    let words = [
        "matins",
        "runtime",
        "--folder",
        folder.map_or("FOLDER", String::as_str),
        "--server",
        &server,
        "--token-file",
        &token_file,
    ];
    // Only a word with a NUL byte cannot be quoted, and no path has one.
    format!("  {}", shlex::try_join(words).unwrap_or_default())
}
