//! Secrets that sign what goes out and what comes in, as they are shown.

use api_types::SecretRotated;

use crate::{
    app::App,
    failure::{Exit, Failure},
};

/// Shows a secret that took the place of another one.
pub(super) fn rotated(app: &App, rotated: &SecretRotated) -> Result<(), Failure> {
    if app.output.json {
        return Ok(app.output.document(rotated)?);
    }
    let Some(secret) = &rotated.secret else {
        let message = "show the secret: it was made, and was lost on its way; make another one";
        return Err(Failure::message(Exit::Failed, message));
    };
    app.output.line(secret)?;
    app.output.aside(&format!(
        "The one before holds until {} as well.",
        app.time.date_time(rotated.previous_until)
    ));
    Ok(())
}
