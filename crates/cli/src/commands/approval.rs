//! `matins approval`: lists the permission requests of agents, and allows or denies them.

use api_types::{Approval, DecisionRequest, MAX_PAGE_ITEMS};
use clap::Subcommand;
use client::{ApprovalFilter, ApprovalStates, PageParams};
use model::{Timestamp, approval::ApprovalStatus, permission::Verdict};

use crate::{
    app::App,
    error::{CliError, Exit},
    output::{clean, excerpt, short_ids, table},
};

/// Approvals: what agents ask of people
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List approvals that wait, the newest first
    List {
        /// Those of a session: its key, its ID or a prefix of its ID
        #[arg(long)]
        session: Option<String>,
        /// Those of an automation
        #[arg(long, value_name = "NAME")]
        automation: Option<String>,
        /// Those of a run: its ID or a prefix of its ID
        #[arg(long)]
        run: Option<String>,
        /// Those in a state instead: allowed, denied, expired or void
        #[arg(long, conflicts_with = "all")]
        state: Option<ApprovalStatus>,
        /// Those that are over, too
        #[arg(long)]
        all: bool,
        /// How many at the most
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show an approval with what goes into the tool
    Show {
        /// The approval: its ID or a prefix of its ID
        approval: String,
    },
    /// Let the agent do what it asks, this once
    Allow(DecisionArgs),
    /// Refuse what the agent asks
    Deny(DecisionArgs),
}

#[derive(Debug, clap::Args)]
struct DecisionArgs {
    /// The approval: its ID or a prefix of its ID
    approval: String,
    /// Why, for whoever looks at it later; the agent is not told
    #[arg(long, value_name = "TEXT")]
    comment: Option<String>,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List {
            session,
            automation,
            run,
            state,
            all,
            limit,
        } => {
            let states = match state {
                Some(state) => ApprovalStates::Only(state),
                None if all => ApprovalStates::Any,
                None => ApprovalStates::Pending,
            };
            let filter = ApprovalFilter {
                states,
                session,
                automation,
                run,
                page: PageParams::default(),
            };
            list(app, filter, limit).await?;
        }
        Command::Show { approval } => show(app, &approval).await?,
        Command::Allow(decision) => decide(app, Verdict::Allow, decision).await?,
        Command::Deny(decision) => decide(app, Verdict::Deny, decision).await?,
    }
    Ok(Exit::Done)
}

async fn list(app: &App, mut filter: ApprovalFilter, limit: u32) -> Result<(), CliError> {
    let mut approvals = Vec::new();
    let mut wanted = limit;
    while wanted > 0 {
        filter.page.limit = Some(wanted.min(MAX_PAGE_ITEMS));
        let page = app.client.approvals(&filter).await?;
        let came = u32::try_from(page.items.len()).unwrap_or(u32::MAX);
        wanted = wanted.saturating_sub(came);
        approvals.extend(page.items);
        if page.next.is_none() {
            break;
        }
        filter.page.after = page.next;
    }
    if app.output.json {
        return Ok(app.output.document(&approvals)?);
    }
    if approvals.is_empty() {
        let none = match filter.states {
            ApprovalStates::Pending => "Nothing waits for approval.",
            _ => "No approvals.",
        };
        return Ok(app.output.line(none)?);
    }
    let ids = short_ids(approvals.iter().map(|one| one.id));
    let rows = approvals.iter().zip(ids).map(|(one, id)| {
        [
            id,
            one.state.to_string(),
            app.time.date_time(one.deadline_at),
            excerpt(&one.request.tool_kind, 20),
            excerpt(&one.request.title, 80),
        ]
    });
    let headings = ["APPROVAL", "STATE", "UNTIL", "TOOL", "WHAT"];
    Ok(app.output.line(&table(headings, rows))?)
}

async fn show(app: &App, given: &str) -> Result<(), CliError> {
    let approval = app.client.approval(given).await?;
    if app.output.json {
        return Ok(app.output.document(&approval)?);
    }
    let at = |at: Timestamp| app.time.date_time(at);
    let Approval {
        request: question, ..
    } = &approval;
    let fields = [
        ("state", Some(approval.state.to_string())),
        ("tool", Some(question.tool_kind.clone())),
        ("what", Some(question.title.clone())),
        ("session", Some(approval.session_id.to_string())),
        ("run", Some(approval.run_id.to_string())),
        (
            "automation",
            approval.automation_id.map(|id| id.to_string()),
        ),
        ("asked", Some(at(approval.created_at))),
        ("until", Some(at(approval.deadline_at))),
        ("over", approval.decided_at.map(at)),
        ("by", approval.decided_by.clone()),
        ("comment", approval.comment.clone()),
    ];
    app.output.line(&approval.id.to_string())?;
    for (name, value) in fields {
        if let Some(value) = value {
            app.output.line(&format!("  {name:12}{}", clean(&value)))?;
        }
    }
    if let Some(input) = &question.input {
        let text = match input.as_str() {
            Some(text) => text.to_owned(),
            None => format!("{input:#}"),
        };
        let heading = if question.input_cut {
            "Input, its beginning"
        } else {
            "Input"
        };
        app.output.line(&format!("\n{heading}\n{}", clean(&text)))?;
    }
    Ok(())
}

async fn decide(app: &App, verdict: Verdict, decision: DecisionArgs) -> Result<(), CliError> {
    let DecisionArgs { approval, comment } = decision;
    let request = DecisionRequest { comment };
    let decided = app.client.decide(&approval, verdict, &request).await?;
    if app.output.json {
        return Ok(app.output.document(&decided)?);
    }
    let word = match verdict {
        Verdict::Allow => "Allowed",
        Verdict::Deny => "Denied",
    };
    let what = clean(&decided.request.title);
    Ok(app.output.line(&format!("{word} {}: {what}", decided.id))?)
}
