//! `matins approval`: lists the permission requests of agents, and allows or denies them.

use api_types::{Approval, DecisionRequest};
use clap::Subcommand;
use client::{ApprovalFilter, ApprovalStates, PageParams};
use model::{Timestamp, approval::ApprovalStatus, caller_name::display_name, permission::Verdict};

use crate::{
    app::App,
    commands::first_items::first_items,
    error::{CliError, Exit},
    output::{clean, excerpt, field_row, one_line, short_ids, table},
};

/// Manage approvals: permission requests of agents that wait for a person
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List pending approvals, newest first
    #[command(visible_alias = "ls")]
    List {
        /// Only approvals of this session: its key, its ID or a prefix of its ID
        #[arg(long)]
        session: Option<String>,
        /// Only approvals of this automation
        #[arg(long, value_name = "NAME")]
        automation: Option<String>,
        /// Only approvals of this run: its ID or a prefix of its ID
        #[arg(long)]
        run: Option<String>,
        /// Approvals in this state instead of pending ones: allowed, denied, expired or void
        #[arg(long, conflicts_with = "all")]
        state: Option<ApprovalStatus>,
        /// Also list approvals that are no longer pending
        #[arg(long)]
        all: bool,
        /// The maximum number of approvals
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show an approval with the input of the tool
    Show {
        /// The approval: its ID or a prefix of its ID
        approval: String,
    },
    /// Allow the request once
    Allow(DecisionArgs),
    /// Deny the request
    Deny(DecisionArgs),
}

#[derive(Debug, clap::Args)]
struct DecisionArgs {
    /// The approval: its ID or a prefix of its ID
    approval: String,
    /// A comment for later readers; the agent does not receive it
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
    let approvals = first_items(limit, async |page| {
        filter.page = page;
        app.client.approvals(&filter).await
    })
    .await?;
    if app.output.json {
        return Ok(app.output.document(&approvals)?);
    }
    if approvals.is_empty() {
        let none = match filter.states {
            ApprovalStates::Pending => "No pending approvals.",
            _ => "No approvals.",
        };
        return Ok(app.output.line(none)?);
    }
    let ids = short_ids(approvals.iter().map(|approval| approval.id));
    let rows = approvals.iter().zip(ids).map(|(approval, id)| {
        [
            id,
            approval.state.to_string(),
            app.time.date_time(approval.deadline_at),
            excerpt(&approval.request.tool_kind, 20),
            excerpt(&approval.request.title, 80),
        ]
    });
    let headings = ["APPROVAL", "STATE", "DEADLINE", "TOOL", "REQUEST"];
    Ok(app.output.line(&table(headings, rows))?)
}

async fn show(app: &App, given: &str) -> Result<(), CliError> {
    let mut approval = app.client.approval(given).await?;
    let mut input_bytes = None;
    // A person decides on the whole input, so the beginning is not enough.
    if approval.request.input_cut {
        let id = approval.id.to_string();
        let whole = app.client.approval_input(&id).await?;
        approval.request.input = whole.input;
        approval.request.input_cut = whole.cut;
        input_bytes = whole.bytes;
    }
    if app.output.json {
        return Ok(app.output.document(&approval)?);
    }
    let at = |at: Timestamp| app.time.date_time(at);
    let Approval { request, .. } = &approval;
    let fields = [
        ("state", Some(approval.state.to_string())),
        ("tool", Some(request.tool_kind.clone())),
        ("request", Some(request.title.clone())),
        ("session", Some(approval.session_id.to_string())),
        ("run", Some(approval.run_id.to_string())),
        (
            "automation",
            approval.automation_id.map(|id| id.to_string()),
        ),
        ("requested", Some(at(approval.created_at))),
        ("deadline", Some(at(approval.deadline_at))),
        ("decided", approval.decided_at.map(at)),
        (
            "decided by",
            approval
                .decided_by
                .as_deref()
                .map(|by| display_name(by).to_owned()),
        ),
        ("comment", approval.comment.clone()),
    ];
    app.output.line(&approval.id.to_string())?;
    for (name, value) in fields {
        if let Some(value) = value {
            app.output.line(&field_row(name, &value))?;
        }
    }
    if let Some(input) = &request.input {
        let text = match input.as_str() {
            Some(text) => text.to_owned(),
            None => format!("{input:#}"),
        };
        let heading = match (request.input_cut, input_bytes) {
            (true, Some(bytes)) => format!("Input (its beginning; the whole has {bytes} bytes)"),
            (true, None) => "Input (its beginning)".to_owned(),
            (false, _) => "Input".to_owned(),
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
    let title = one_line(&decided.request.title);
    Ok(app
        .output
        .line(&format!("{word} {}: {title}", decided.id))?)
}
