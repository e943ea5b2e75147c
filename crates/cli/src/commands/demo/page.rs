//! The line of a demonstration about its page.

use super::program_name::program_name;
use crate::{app::App, commands::sign_in, error::CliError, output::clean};

/// Returns the line about the page of the demonstration. Returns an empty text if it has no page.
pub(super) async fn format_page(
    app: &App,
    folder: &str,
    address: Option<&str>,
) -> Result<String, CliError> {
    Ok(match address {
        // On a terminal a person reads along. A log would keep the secret of a link.
        Some(address) if app.output.is_interactive() => {
            let link = sign_in::create_at(app, address).await?;
            format!("Page: {}\n{}\n", link.url(), link.note(app))
        }
        Some(_) => format!(
            "`{} --data {folder} sign-in` prints a link to its page.\n",
            clean(&program_name())
        ),
        None => String::new(),
    })
}
