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
        let message = "show the secret: it was made, and was lost on its way; make another one";
        return Err(CliError::message(Exit::Failed, message));
    };
    app.output.line(secret)?;
    app.output.aside(&format!(
        "The one before holds until {} as well.",
        app.time.date_time(rotated.previous_until)
    ));
    Ok(())
}
