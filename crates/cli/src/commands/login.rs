//! `matins login` and `matins logout`.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use client::Client;
use config::Config;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::json;

use crate::{
    app::entropy,
    error::{CliError, Exit},
    login::{self, Login},
    output::Output,
    signals::Signals,
};

/// The maximum number of bytes of a token.
const MAX_TOKEN_BYTES: u64 = 4096;

/// Sign in to a remote server, which all commands use from then on
///
/// Reads the token from standard input, without echo if that is a terminal. Verifies the token and stores it in
/// matins/login.toml in the user's configuration directory, readable by its owner only.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    // The help is no doc comment, because rustdoc demands brackets around the URL.
    #[arg(
        value_name = "URL",
        help = "The address of the server, such as https://matins.example.org; or --server"
    )]
    address: Option<String>,
}

/// Sign out: commands use this machine again
#[derive(Debug, clap::Args)]
pub(crate) struct LogoutArgs {}

pub(crate) async fn run(args: Args, config: &Config, output: Output) -> Result<Exit, CliError> {
    let address = args.address.or_else(|| config.server.value.clone());
    let server = address.ok_or_else(|| {
        CliError::message(Exit::Usage, "the address of the server is missing")
            .with_hint("give it as an argument: matins login https://matins.example.org")
    })?;
    let path = login::path().ok_or_else(|| {
        let message = "cannot store the token: HOME is not set";
        CliError::message(Exit::Environment, message)
    })?;
    // Validate the address before the user types a secret.
    Client::with_address(&server, "mat_", entropy())?;
    let Some(token) = read_token(output, &server).await? else {
        return Ok(Exit::Interrupted);
    };
    // Store only a token that the server accepts.
    let who = Client::with_address(&server, &token, entropy())?
        .whoami()
        .await?;
    login::write(
        &path,
        &Login {
            server: server.clone(),
            token,
        },
    )?;
    if output.json {
        output.document(&json!({ "server": server, "whoami": who }))?;
        return Ok(Exit::Done);
    }
    output.line(&format!(
        "Signed in to {server} as {} of {}. `matins logout` signs out.",
        who.role, who.tenant.name
    ))?;
    Ok(Exit::Done)
}

pub(crate) fn logout(output: Output) -> Result<Exit, CliError> {
    let was_signed_in = match login::path() {
        Some(path) => login::remove(&path)?,
        None => false,
    };
    if output.json {
        output.document(&json!({ "signed_out": was_signed_in }))?;
    } else if was_signed_in {
        output
            .line("Signed out. The token remains valid until `matins token revoke` revokes it.")?;
    } else {
        output.line("Not signed in.")?;
    }
    Ok(Exit::Done)
}

/// Reads the token from standard input, without echo if that is a terminal. Returns `None` if the user presses
/// Ctrl-C.
async fn read_token(output: Output, server: &str) -> Result<Option<String>, CliError> {
    let mut signals = Signals::listen()?;
    let hidden = if io::stdin().is_terminal() {
        output.note(&format!("Token for {server} (it is not shown):"));
        Some(EchoGuard::disable_echo().map_err(token_read_error)?)
    } else {
        None
    };
    // A blocked read cannot be cancelled, so it runs in a thread that the process leaves behind after Ctrl-C.
    let reading = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let mut from = io::stdin().lock().take(MAX_TOKEN_BYTES);
        from.read_line(&mut line).map(|_| line)
    });
    let read = tokio::select! {
        read = reading => read.map_err(io::Error::other).and_then(|read| read),
        () = signals.next() => {
            drop(hidden);
            return Ok(None);
        }
    };
    drop(hidden);
    let line = read.map_err(token_read_error)?;
    let token = line.trim();
    if token.is_empty() {
        let message = "there is no token on standard input";
        return Err(CliError::message(Exit::Usage, message)
            .with_hint("`matins token create` creates one on the machine of the server"));
    }
    Ok(Some(token.to_owned()))
}

fn token_read_error(source: io::Error) -> CliError {
    CliError::environment("cannot read the token", source)
}

/// Disables the echo of the terminal until it is dropped.
struct EchoGuard(Termios);

impl EchoGuard {
    fn disable_echo() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for EchoGuard {
    fn drop(&mut self) {
        tcsetattr(io::stdin(), OptionalActions::Now, &self.0).ok();
    }
}
