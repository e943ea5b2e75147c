//! `matins token`: creates, lists and revokes API tokens.

use api_types::{MAX_PAGE_ITEMS, Token, TokenRequest};
use clap::Subcommand;
use client::PageParams;
use model::{
    Clock as _, Timestamp,
    access::{Permission, Role},
    schedule::Period,
};
use server::SystemClock;

use crate::{
    app::App,
    error::{CliError, Exit},
    output::{excerpt, table},
};

/// Manage tokens, which authenticate clients of the API
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a token and print its secret, which is shown only once
    Create {
        /// The name of the token in lists
        name: String,
        /// The role of the token: admin, member or viewer
        #[arg(long, default_value_t = Role::Member, value_parser = parse_role)]
        role: Role,
        /// Restrict the token to this permission of its role, such as sessions:read; may be repeated
        #[arg(long = "scope", value_name = "PERMISSION")]
        scopes: Vec<Permission>,
        /// The time after which the token expires, such as 90d [default: with the token of this command, if that
        /// expires]
        #[arg(long, value_name = "PERIOD")]
        expires: Option<Period>,
    },
    /// List the tokens, newest first, without their secrets
    #[command(visible_alias = "ls")]
    List,
    /// Revoke a token; it is invalid from then on
    Revoke {
        /// The token: its ID or a prefix of its ID
        token: String,
        /// Also revoke all tokens that it made, directly or through others, and sign their browsers out
        #[arg(long)]
        cascade: bool,
    },
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::Create {
            name,
            role,
            scopes,
            expires,
        } => {
            let request = TokenRequest {
                name,
                role,
                scopes: Some(scopes).filter(|scopes| !scopes.is_empty()),
                expires_at: expires.map(expiry).transpose()?,
            };
            create(app, &request).await?;
        }
        Command::List => list(app).await?,
        Command::Revoke { token, cascade } => revoke(app, &token, cascade).await?,
    }
    Ok(Exit::Done)
}

/// Parses a role that a token of a person or a program may have. The other roles belong to processes.
fn parse_role(text: &str) -> Result<Role, String> {
    let accepted = [Role::Admin, Role::Member, Role::Viewer];
    let role = accepted.into_iter().find(|role| role.as_str() == text);
    role.ok_or_else(|| {
        let names = accepted.map(Role::as_str).join(", ");
        format!("expected one of {names}")
    })
}

fn expiry(period: Period) -> Result<Timestamp, CliError> {
    let end = SystemClock.now().jiff().checked_add(period.duration());
    end.map(Timestamp::from_jiff).map_err(|error| {
        let error = anyhow::Error::new(error).context(format!("the period `{period}` is too long"));
        CliError::new(Exit::Usage, error)
    })
}

async fn create(app: &App, request: &TokenRequest) -> Result<(), CliError> {
    let created = app.client.create_token(request).await?;
    if app.output.json {
        return Ok(app.output.document(&created)?);
    }
    let Some(secret) = &created.secret else {
        let message = "the token was created, but its secret was lost in transit";
        return Err(CliError::message(Exit::Failed, message).with_hint(format!(
            "revoke it with `matins token revoke {}`, and create another one",
            created.token.id
        )));
    };
    app.output.line(secret)?;
    app.output.aside(&format!(
        "{} with the role {}. The secret is shown only once.",
        created.token.id, created.token.role
    ));
    if let (None, Some(end)) = (request.expires_at, created.token.expires_at) {
        app.output.aside(&format!(
            "It expires at {}, with the token that made it.",
            app.time.date_time(end)
        ));
    }
    Ok(())
}

async fn list(app: &App) -> Result<(), CliError> {
    let mut tokens = Vec::new();
    let mut part = PageParams::first(MAX_PAGE_ITEMS);
    loop {
        let page = app.client.tokens(&part).await?;
        tokens.extend(page.items);
        if page.next.is_none() {
            break;
        }
        part.after = page.next;
    }
    if app.output.json {
        return Ok(app.output.document(&tokens)?);
    }
    if tokens.is_empty() {
        return Ok(app.output.line("No tokens.")?);
    }
    let rows = tokens.iter().map(|token| {
        let at = |at: Option<Timestamp>| at.map(|at| app.time.date_time(at));
        [
            token.id.to_string(),
            excerpt(&token.name, 40),
            token.role.to_string(),
            format_scopes(token),
            token.secret_prefix.clone(),
            format_state(token).to_owned(),
            at(token.expires_at).unwrap_or_default(),
            at(token.last_used_at).unwrap_or_default(),
            format_maker(token),
        ]
    });
    let headings = [
        "TOKEN",
        "NAME",
        "ROLE",
        "SCOPES",
        "PREFIX",
        "STATE",
        "EXPIRES",
        "LAST USED",
        "MADE BY",
    ];
    Ok(app.output.line(&table(headings, rows))?)
}

/// Formats the permissions to which a token is restricted. Returns an empty text if it has all permissions of its
/// role.
fn format_scopes(token: &Token) -> String {
    let scopes = token.scopes.iter().flatten().map(|scope| scope.as_str());
    scopes.collect::<Vec<_>>().join(",")
}

/// Formats the token that made a token, or that signed its browser in. Returns an empty text if there is none.
fn format_maker(token: &Token) -> String {
    let maker = token.made_by.or(token.parent_id);
    maker.map(|id| id.to_string()).unwrap_or_default()
}

fn format_state(token: &Token) -> &'static str {
    let over = token.expires_at.is_some_and(|end| end <= SystemClock.now());
    match token.revoked_at {
        Some(_) => "revoked",
        None if over => "expired",
        None => "valid",
    }
}

async fn revoke(app: &App, given: &str, cascade: bool) -> Result<(), CliError> {
    let revoked = app.client.revoke_token(given, cascade).await?;
    if app.output.json {
        return Ok(app.output.document(&revoked)?);
    }
    let id = revoked.token.id;
    app.output.line(&match revoked.also_revoked {
        0 => format!("Revoked {id}."),
        1 => format!("Revoked {id}, and 1 token that it made or that signed a browser in."),
        others => {
            format!("Revoked {id}, and {others} tokens that it made or that signed browsers in.")
        }
    })?;
    let remaining = match revoked.still_valid {
        0 => return Ok(()),
        1 => "1 token that it made stays valid".to_owned(),
        many => format!("{many} tokens that it made stay valid"),
    };
    app.output.aside(&format!(
        "{remaining}. `matins token revoke {id} --cascade` revokes all that it made."
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_roles_of_people_and_programs_are_accepted() {
        assert_eq!(parse_role("viewer"), Ok(Role::Viewer));
        for text in ["foo", "runtime", "run", ""] {
            assert_eq!(
                parse_role(text),
                Err("expected one of admin, member, viewer".into()),
                "{text}"
            );
        }
    }
}
