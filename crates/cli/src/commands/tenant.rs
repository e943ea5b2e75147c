//! `matins tenant`: manages tenants and their budgets.

use api_types::{BudgetUsage, MAX_PAGE_ITEMS, Tenant, TenantRequest};
use clap::{Subcommand, ValueEnum};
use client::PageParams;
use model::budget::{Budget, Limit};
use serde::Serialize;

use crate::{
    app::App,
    commands::budget,
    error::{CliError, Exit},
    output::{BOLD, excerpt, paint, table},
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
    /// List the tenants, the newest first
    List,
    /// Show a tenant with its budget, and what all its runs have used
    Show {
        /// Its name or its id
        tenant: String,
    },
    /// Change what all runs of a tenant may use: limits that no option names stay
    Edit {
        /// Its name or its id
        tenant: String,
        /// What its runs may use, such as "50000 tokens/run", "20 USD/month" or "24 turns/day"; may be given
        /// again
        #[arg(long, value_name = "LIMIT", value_parser = budget::parse_limit, required_unless_present = "clear")]
        budget: Vec<Limit>,
        /// Set something back to its default, before the other options
        #[arg(long, value_name = "WHAT")]
        clear: Vec<Clear>,
    },
}

/// The parts of a tenant that `--clear` resets to their defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Clear {
    /// All limits.
    Budget,
}

/// A tenant with the usage of its runs.
#[derive(Serialize)]
struct TenantDetails<'a> {
    #[serde(flatten)]
    tenant: &'a Tenant,
    usage: &'a BudgetUsage,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::Create { name } => create(app, name).await?,
        Command::List => list(app).await?,
        Command::Show { tenant } => show(app, &app.client.tenant(&tenant).await?.value).await?,
        Command::Edit {
            tenant,
            budget: limits,
            clear,
        } => {
            let seen = app.client.tenant(&tenant).await?;
            let mut asked = Budget::from(seen.value.budget);
            if clear.contains(&Clear::Budget) {
                asked = Budget::default();
            }
            budget::set_limits(&mut asked, limits)?;
            let (id, tag) = (seen.value.id.to_string(), seen.tag.as_deref());
            let set = app
                .client
                .set_tenant_budget(&id, &asked.into(), tag)
                .await?;
            show(app, &set).await?;
        }
    }
    Ok(Exit::Done)
}

async fn create(app: &App, name: String) -> Result<(), CliError> {
    let created = app.client.create_tenant(&TenantRequest { name }).await?;
    if app.output.json {
        return Ok(app.output.document(&created)?);
    }
    let Some(secret) = &created.token.secret else {
        let message = "show the token: it was made with the tenant, and was lost on its way";
        return Err(CliError::message(Exit::Failed, message));
    };
    app.output.aside(&format!(
        "Made {} ({}). The token of its admin is shown this one time:",
        excerpt(&created.tenant.name, 80),
        created.tenant.id
    ));
    Ok(app.output.line(secret)?)
}

async fn show(app: &App, tenant: &Tenant) -> Result<(), CliError> {
    let spending = &app.client.tenant_usage(&tenant.id.to_string()).await?;
    if app.output.json {
        return Ok(app.output.document(&TenantDetails {
            tenant,
            usage: spending,
        })?);
    }
    let name = paint(BOLD, &excerpt(&tenant.name, 80));
    app.output.line(&format!("{name}  {}", tenant.id))?;
    let nothing = |text: Option<String>, else_is: &str| text.unwrap_or_else(|| else_is.to_owned());
    for (name, value) in [
        ("made", app.time.date_time(tenant.created_at)),
        (
            "budget",
            nothing(
                budget::format_limits(&tenant.budget.clone().into()),
                "no limit",
            ),
        ),
        (
            "used",
            nothing(budget::format_usage(spending), "nothing this month"),
        ),
    ] {
        app.output.line(&format!("  {name:12}{value}"))?;
    }
    Ok(())
}

async fn list(app: &App) -> Result<(), CliError> {
    let mut tenants = Vec::new();
    let mut part = PageParams::first(MAX_PAGE_ITEMS);
    loop {
        let page = app.client.tenants(&part).await?;
        tenants.extend(page.items);
        if page.next.is_none() {
            break;
        }
        part.after = page.next;
    }
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
