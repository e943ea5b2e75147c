//! `matins question`: lists the questions of agents, and answers them.

use api_types::{AnswerRequest, Question};
use clap::Subcommand;
use client::{PageParams, QuestionFilter, QuestionStates};
use model::{
    Timestamp,
    caller_name::display_name,
    question::{QuestionStatus, answer_text},
};

use serde_json::{Map, Value};

use crate::{
    app::App,
    commands::first_items::first_items,
    error::{CliError, Exit},
    output::{clean, excerpt, field_row, short_ids, table},
};

/// Manage questions: agents ask, and a person answers
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List pending questions, newest first
    #[command(visible_alias = "ls")]
    List {
        /// Only questions of this session: its key, its ID or a prefix of its ID
        #[arg(long)]
        session: Option<String>,
        /// Questions in this state instead of pending ones: answered, expired or void
        #[arg(long, conflicts_with = "all")]
        state: Option<QuestionStatus>,
        /// Also list questions that are no longer pending
        #[arg(long)]
        all: bool,
        /// The maximum number of questions
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a question with its options and its answer
    Show {
        /// The question: its ID or a prefix of its ID
        question: String,
    },
    /// Answer a question
    ///
    /// The answer becomes the next input of the agent.
    Answer {
        /// The question: its ID or a prefix of its ID
        question: String,
        /// The answer
        #[arg(required_unless_present_any = ["option", "form"], conflicts_with_all = ["option", "form"])]
        text: Option<String>,
        /// The number of the option that is the answer
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        option: Option<u32>,
        /// The fields of the form, as a JSON object
        #[arg(long, value_name = "JSON", conflicts_with = "option", value_parser = parse_form)]
        form: Option<FormFields>,
    },
    /// Decline to answer the form of an agent that waits in its turn
    ///
    /// The agent reads that the question was declined, and no default counts.
    Decline {
        /// The question: its ID or a prefix of its ID
        question: String,
    },
}

/// The fields of a form on the command line.
#[derive(Debug, Clone)]
struct FormFields(Map<String, Value>);

fn parse_form(text: &str) -> Result<FormFields, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(FormFields(fields)),
        Ok(_) => Err("it is no JSON object".into()),
        Err(error) => Err(format!("it is no JSON: {error}")),
    }
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List {
            session,
            state,
            all,
            limit,
        } => {
            let states = match state {
                Some(state) => QuestionStates::Only(state),
                None if all => QuestionStates::Any,
                None => QuestionStates::Pending,
            };
            let filter = QuestionFilter {
                states,
                session,
                page: PageParams::default(),
            };
            list(app, filter, limit).await?;
        }
        Command::Show { question } => show(app, &question).await?,
        Command::Answer {
            question,
            text,
            option,
            form,
        } => {
            let form = form.map(|FormFields(fields)| fields);
            let request = AnswerRequest { text, option, form };
            answer(app, &question, request).await?;
        }
        Command::Decline { question } => decline(app, &question).await?,
    }
    Ok(Exit::Done)
}

async fn list(app: &App, mut filter: QuestionFilter, limit: u32) -> Result<(), CliError> {
    let questions = first_items(limit, async |page| {
        filter.page = page;
        app.client.questions(&filter).await
    })
    .await?;
    if app.output.json {
        return Ok(app.output.document(&questions)?);
    }
    if questions.is_empty() {
        let none = match filter.states {
            QuestionStates::Pending => "No pending questions.",
            _ => "No questions.",
        };
        return Ok(app.output.line(none)?);
    }
    let ids = short_ids(questions.iter().map(|question| question.id));
    let rows = questions.iter().zip(ids).map(|(question, id)| {
        [
            id,
            question.state.to_string(),
            app.time.date_time(question.deadline_at),
            excerpt(&question.text, 80),
        ]
    });
    let headings = ["QUESTION", "STATE", "DEADLINE", "TEXT"];
    Ok(app.output.line(&table(headings, rows))?)
}

async fn show(app: &App, given: &str) -> Result<(), CliError> {
    let question = app.client.question(given).await?;
    if app.output.json {
        return Ok(app.output.document(&question)?);
    }
    let at = |at: Timestamp| app.time.date_time(at);
    let Question {
        default, answer, ..
    } = &question;
    let fields = [
        ("state", Some(question.state.to_string())),
        ("session", Some(question.session_id.to_string())),
        ("run", Some(question.run_id.to_string())),
        (
            "automation",
            question.automation_id.map(|id| id.to_string()),
        ),
        ("asked", Some(at(question.created_at))),
        ("deadline", Some(at(question.deadline_at))),
        ("default", default.as_ref().map(answer_text)),
        ("closed", question.closed_at.map(at)),
        (
            "answered by",
            question
                .answered_by
                .as_deref()
                .map(|by| display_name(by).to_owned()),
        ),
        (
            "answer",
            if question.declined {
                Some("declined".to_owned())
            } else {
                answer.as_ref().map(answer_text)
            },
        ),
    ];
    app.output.line(&question.id.to_string())?;
    for (name, value) in fields {
        if let Some(value) = value {
            app.output.line(&field_row(name, &value))?;
        }
    }
    app.output.line(&format!("\n{}", clean(&question.text)))?;
    if let Some(form) = &question.form {
        let text = format!("{form:#}");
        app.output.line(&format!("\nForm\n{}", clean(&text)))?;
    }
    for (option, number) in question.options.iter().zip(1..) {
        let option = excerpt(option, 200);
        app.output.line(&format!("  {number}. {option}"))?;
    }
    Ok(())
}

async fn answer(app: &App, given: &str, request: AnswerRequest) -> Result<(), CliError> {
    let answered = app.client.answer(given, &request).await?;
    if app.output.json {
        return Ok(app.output.document(&answered)?);
    }
    let answer = answered
        .answer
        .as_ref()
        .map(answer_text)
        .unwrap_or_default();
    let answer = excerpt(&answer, 80);
    Ok(app
        .output
        .line(&format!("Answered {}: {answer}", answered.id))?)
}

async fn decline(app: &App, given: &str) -> Result<(), CliError> {
    let declined = app.client.decline_question(given).await?;
    if app.output.json {
        return Ok(app.output.document(&declined)?);
    }
    Ok(app.output.line(&format!("Declined {}.", declined.id))?)
}
