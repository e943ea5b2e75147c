//! `matins memory`: lists, sets and deletes the memory entries of automations and sessions.

use std::time::Duration;

use api_types::{MemoryEntry, MemoryEntryRequest};
use clap::Subcommand;
use client::MemoryOf;
use model::{Clock as _, caller_name::display_name, schedule::Period};
use server::SystemClock;

use crate::{
    app::App,
    commands::first_items::first_items,
    error::{CliError, Exit},
    output::{LocalTime, excerpt, last_columns, one_line, table_with_notes},
};

/// The highest width of a key. With the widest cells of WRITTEN and CONFIDENCE, it leaves 8 columns to AUTHOR.
const MAX_KEY_COLUMNS: usize = 34;

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
    Ok(app.output.line(&entries_table(&entries, &app.time))?)
}

/// Formats entries as a table, with each value below its row.
fn entries_table(entries: &[MemoryEntry], time: &LocalTime) -> String {
    let rows = entries.iter().map(|entry| {
        let doubt = if entry.unconfirmed {
            ", unconfirmed"
        } else {
            ""
        };
        [
            excerpt(&entry.key, MAX_KEY_COLUMNS),
            time.minute(entry.updated_at),
            format!("{}{doubt}", entry.confidence),
            display_name(&entry.author).to_owned(),
        ]
    });
    let mut rows: Vec<_> = rows.collect();
    let headings = ["KEY", "WRITTEN", "CONFIDENCE", "AUTHOR"];
    let room = last_columns(&headings, &rows);
    for [.., author] in &mut rows {
        *author = excerpt(author, room);
    }
    let values = entries.iter().map(|entry| vec![entry.value.clone()]);
    table_with_notes(headings, rows.into_iter().zip(values))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::output::{LINE_COLUMNS, column_count};

    #[test]
    fn entries_have_lines_of_at_most_80_columns() {
        let entry = |key: &str, value: &str, author: &str| -> MemoryEntry {
            serde_json::from_value(json!({
                "id": "mem_01970197019701970197019701970197", "key": key, "value": value, "confidence": 0.9,
                "author": author, "unconfirmed": author != "socket", "version": 1,
                "created_at": "2026-11-20T06:00:00Z", "updated_at": "2026-11-20T06:00:00Z"
            }))
            .unwrap()
        };
        let time = LocalTime::of_zone("Europe/Prague");
        let own = [entry("build", "red", "socket")];
        assert_eq!(
            entries_table(&own, &time),
            "KEY    WRITTEN           CONFIDENCE  AUTHOR\n\
             build  2026-11-20 07:00  0.9         a person at the server\n  \
             red"
        );
        let long = entry(&"k".repeat(60), &"東京".repeat(90), &"a".repeat(60));
        let table = entries_table(&[own[0].clone(), long], &time);
        assert!(table.contains("0.9, unconfirmed"), "{table}");
        for line in table.lines() {
            assert!(column_count(line) <= LINE_COLUMNS, "{line}");
        }
    }
}
