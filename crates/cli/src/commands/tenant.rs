//! `matins tenant`: owners of everything else.

use clap::Subcommand;
use wire::TenantRequest;

use crate::{
    app::App,
    failure::{Exit, Failure},
    output::{excerpt, table},
};

/// Tenants: each owns what is its, and sees nothing of another
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a tenant and print the token of its first admin, this one time
    Create {
        /// Its name
        name: String,
    },
    /// List the tenants by name
    List,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, Failure> {
    match args.command {
        Command::Create { name } => create(app, name).await?,
        Command::List => list(app).await?,
    }
    Ok(Exit::Done)
}

async fn create(app: &App, name: String) -> Result<(), Failure> {
    let created = app.client.create_tenant(&TenantRequest { name }).await?;
    if app.output.json {
        return Ok(app.output.document(&created)?);
    }
    app.output.aside(&format!(
        "Made {} ({}). The token of its admin is shown this one time:",
        excerpt(&created.tenant.name, 80),
        created.tenant.id
    ));
    let secret = created.token.secret.as_deref().unwrap_or_default();
    Ok(app.output.line(secret)?)
}

async fn list(app: &App) -> Result<(), Failure> {
    let tenants = app.client.tenants().await?.items;
    if app.output.json {
        return Ok(app.output.document(&tenants)?);
    }
    let rows = tenants.iter().map(|tenant| {
        [
            tenant.id.to_string(),
            excerpt(&tenant.name, 80),
            app.time.date_time(tenant.created_at),
        ]
    });
    Ok(app.output.line(&table(["TENANT", "NAME", "MADE"], rows))?)
}
