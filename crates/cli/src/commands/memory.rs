//! `matins memory`: lists, sets and deletes the memory entries of automations and sessions.

use std::time::Duration;

use api_types::MemoryEntryRequest;
use clap::Subcommand;
use client::MemoryOf;
use model::{Clock as _, schedule::Period};
use server::SystemClock;

use crate::{
    app::App,
    commands::first_items::first_items,
    error::{CliError, Exit},
    output::{excerpt, one_line, table},
};

/// Manage memory: facts that agents keep for later turns
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the entries of an automation or a session
    #[command(visible_alias = "ls")]
    List {
        #[command(flatten)]
        owner: OwnerArgs,
        /// Only entries with this text in the key or in the value
        #[arg(long)]
        text: Option<String>,
        /// The maximum number of entries
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Write an entry
    Set {
        #[command(flatten)]
        owner: OwnerArgs,
        /// The key
        key: String,
        /// The value
        value: String,
        /// The trust in the value, from 0 to 1
        #[arg(long, value_name = "NUMBER")]
        confidence: Option<f64>,
        /// The time after which the entry is no longer returned, such as 30d
        #[arg(long, value_name = "PERIOD")]
        ttl: Option<Period>,
    },
    /// Delete an entry
    #[command(visible_alias = "rm")]
    Delete {
        #[command(flatten)]
        owner: OwnerArgs,
        /// The key
        key: String,
    },
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct OwnerArgs {
    /// The automation that owns the entries: its name, its ID or a prefix of its ID
    #[arg(long, value_name = "NAME")]
    automation: Option<String>,
    /// The session that owns the entries: its key, its ID or a prefix of its ID
    #[arg(long)]
    session: Option<String>,
}

impl OwnerArgs {
    fn into_owner(self) -> MemoryOf {
        match (self.automation, self.session) {
            (Some(automation), _) => MemoryOf::Automation(automation),
            (None, session) => MemoryOf::Session(session.unwrap_or_default()),
        }
    }
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List { owner, text, limit } => {
            list(app, &owner.into_owner(), text.as_deref(), limit).await?;
        }
        Command::Set {
            owner,
            key,
            value,
            confidence,
            ttl,
        } => {
            let lifetime: Option<Duration> = ttl.map(Period::duration);
            let request = MemoryEntryRequest {
                value,
                confidence,
                expires_at: lifetime.map(|lifetime| SystemClock.now() + lifetime),
            };
            let owner = owner.into_owner();
            let written = app.client.set_memory_entry(&owner, &key, &request);
            let entry = written.await?;
            if app.output.json {
                app.output.document(&entry)?;
            } else {
                let line = format!("Set {} (version {})", one_line(&entry.key), entry.version);
                app.output.line(&line)?;
            }
        }
        Command::Delete { owner, key } => {
            let owner = owner.into_owner();
            let deleted = app.client.delete_memory_entry(&owner, &key);
            let entry = deleted.await?;
            if app.output.json {
                app.output.document(&entry)?;
            } else {
                app.output
                    .line(&format!("Deleted {}", one_line(&entry.key)))?;
            }
        }
    }
    Ok(Exit::Done)
}

async fn list(app: &App, owner: &MemoryOf, text: Option<&str>, limit: u32) -> Result<(), CliError> {
    let entries = first_items(limit, async |page| {
        app.client.memory(owner, text, &page).await
    })
    .await?;
    if app.output.json {
        return Ok(app.output.document(&entries)?);
    }
    if entries.is_empty() {
        return Ok(app.output.line("No memory entries.")?);
    }
    let rows = entries.iter().map(|entry| {
        let author = if entry.unconfirmed {
            format!("{} (unconfirmed)", entry.author)
        } else {
            entry.author.clone()
        };
        [
            excerpt(&entry.key, 40),
            excerpt(&entry.value, 60),
            entry.confidence.to_string(),
            excerpt(&author, 30),
            app.time.date_time(entry.updated_at),
        ]
    });
    let headings = ["KEY", "VALUE", "CONFIDENCE", "AUTHOR", "WRITTEN"];
    Ok(app.output.line(&table(headings, rows))?)
}
