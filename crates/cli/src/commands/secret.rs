//! Prints rotated secrets of endpoints and webhooks.

use api_types::SecretRotated;

use crate::{
    app::App,
    error::{CliError, Exit},
};

/// Prints the new secret, and the time until which the previous one stays valid.
pub(super) fn print_rotated(app: &App, rotated: &SecretRotated) -> Result<(), CliError> {
    if app.output.json {
        return Ok(app.output.document(rotated)?);
    }
    let Some(secret) = &rotated.secret else {
        let message = "the secret was created, but was lost in transit";
        return Err(CliError::message(Exit::Failed, message).with_hint("rotate the secret again"));
    };
    app.output.line(secret)?;
    app.output.aside(&format!(
        "The previous secret stays valid until {}.",
        app.time.date_time(rotated.previous_until)
    ));
    Ok(())
}
