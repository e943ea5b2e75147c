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

/// Manage tenants, which are isolated from each other
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a tenant and print the token of its first admin, which is shown only once
    Create {
        /// The name of the tenant
        name: String,
    },
    /// List the tenants, newest first
    #[command(visible_alias = "ls")]
    List,
    /// Show a tenant with its budget and the usage of its runs
    Show {
        /// The tenant: its name or its ID
        tenant: String,
    },
    /// Change the budget of a tenant; limits that no option names stay as they are
    #[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
    Edit {
        /// The tenant: its name or its ID
        tenant: String,
        /// A limit on the usage of all its runs, such as "50000 tokens/run", "20 USD/month", "24 turns/day" or
        /// "90 minutes/day"; may be repeated
        #[arg(
            long,
            value_name = "LIMIT",
            value_parser = budget::parse_limit,
            group = "change",
            allow_hyphen_values = true
        )]
        budget: Vec<Limit>,
        /// Reset a part to its default, before the other options apply
        #[arg(long, value_name = "PART", group = "change")]
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
            let mut edited = Budget::from(seen.value.budget);
            if clear.contains(&Clear::Budget) {
                edited = Budget::default();
            }
            budget::set_limits(&mut edited, limits)?;
            let (id, tag) = (seen.value.id.to_string(), seen.tag.as_deref());
            let set = app
                .client
                .set_tenant_budget(&id, &edited.into(), tag)
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
        let message = "the tenant was created, but the token of its admin was lost in transit";
        return Err(CliError::message(Exit::Failed, message));
    };
    app.output.aside(&format!(
        "Created {} ({}). The token of its admin is shown only once:",
        excerpt(&created.tenant.name, 80),
        created.tenant.id
    ));
    app.output.line(secret)?;
    if let Some(end) = created.token.token.expires_at {
        app.output.aside(&format!(
            "It expires at {}, with the token that created the tenant.",
            app.time.date_time(end)
        ));
    }
    Ok(())
}

async fn show(app: &App, tenant: &Tenant) -> Result<(), CliError> {
    let usage = &app.client.tenant_usage(&tenant.id.to_string()).await?;
    if app.output.json {
        return Ok(app.output.document(&TenantDetails { tenant, usage })?);
    }
    let name = paint(BOLD, &excerpt(&tenant.name, 80));
    app.output.line(&format!("{name}  {}", tenant.id))?;
    let nothing = |text: Option<String>, else_is: &str| text.unwrap_or_else(|| else_is.to_owned());
    for (name, value) in [
        ("created", app.time.date_time(tenant.created_at)),
        (
            "budget",
            nothing(
                budget::format_limits(&tenant.budget.clone().into()),
                "no limit",
            ),
        ),
        (
            "used",
            nothing(budget::format_usage(usage), "nothing this month"),
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
    Ok(app
        .output
        .line(&table(["TENANT", "NAME", "CREATED"], rows))?)
}
