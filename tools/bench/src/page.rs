//! Measures the requests of the web page over HTTP, with a [month](super::month) of work in the database.
//!
//! Some clients send all requests by turns, each with a pause before it, while another one writes now and then. The time
//! of a request ends when the client has read the response and its JSON.

use std::{
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use api_types::{Change, RunFilterRequest, SessionPatch};
use client::{
    ApprovalFilter, ApprovalStates, AutomationFilter, Client, PageParams, RunFilter, SessionFilter,
    TimelineFilter,
};
use model::{
    AgentId, InstanceId, RunId, SessionId, Timestamp, WorkerId,
    run::{Origin, RunStatus},
    session::SessionType,
};
use store::{Location, Scope, Store};
use tokio::{process::Command, task::JoinSet, time::sleep};

use super::{
    fixture::{self, Fixture, now},
    folder::new_folder,
    idle_server::{ServerProcess, database_options},
    month::{self, AUTOMATIONS, DAYS, Month, RUNNING, RUNS},
    postgres::PostgresServer,
    programs::Programs,
    set_insert::RowWriter,
    statistics::format_quantiles,
    traces::free_address,
};

/// The number of clients, each of which sends one request at a time.
const CLIENTS: usize = 3;
/// The time that a client waits before each request.
const THINK_TIME: Duration = Duration::from_millis(50);
/// The time between two writes.
const WRITE_PERIOD: Duration = Duration::from_millis(200);
/// The number of times that each client sends each request before the measured ones.
const WARM_UP_ROUNDS: usize = 2;
/// The number of items on a page of a list.
const PAGE_ITEMS: u32 = 100;

const OVERVIEW_AIM: Duration = Duration::from_millis(50);
const TIMELINE_AIM: Duration = Duration::from_millis(100);
const LIST_AIM: Duration = Duration::from_millis(20);

/// A request of the page.
#[derive(Clone)]
struct Request {
    name: &'static str,
    /// The longest 99th percentile that is accepted.
    aim: Duration,
    operation: Operation,
}

/// An operation of the API, with its parameters.
#[derive(Clone)]
enum Operation {
    Overview(Timestamp),
    Timeline(TimelineFilter),
    Automations(AutomationFilter),
    Runs(RunFilter),
    Sessions(SessionFilter),
    Approvals(ApprovalFilter),
}

/// The times of a request, sorted.
pub(crate) struct RequestTimes {
    name: &'static str,
    aim: Duration,
    times: Vec<Duration>,
}

/// The result of the benchmark on one database.
pub(crate) struct PageMeasurement {
    load_time: Duration,
    writes: usize,
    requests: Vec<RequestTimes>,
}

/// Measures a server on a SQLite file.
pub(crate) async fn measure_sqlite(
    programs: &Programs,
    folder: &Path,
    count: usize,
) -> Result<PageMeasurement> {
    let home = new_folder(folder)?;
    let file = home.path().join("matins.db");
    let location = Location::SqliteFile(file.clone());
    let (world, agents) = create_data_folder(programs, home.path(), &location, None).await?;
    let started = Instant::now();
    let month = fill(&world, &agents, RowWriter::open_sqlite(&file)).await?;
    let load_time = started.elapsed();
    measure(programs, home.path(), None, &month, (load_time, count)).await
}

/// Measures a server on a PostgreSQL database.
pub(crate) async fn measure_postgres(
    programs: &Programs,
    server: &PostgresServer,
    folder: &Path,
    count: usize,
) -> Result<PageMeasurement> {
    let home = new_folder(folder)?;
    let database = server.create_database("matins_page").await?;
    let (location, url) = (database.url.parse()?, Some(database.url.as_str()));
    let (world, agents) = create_data_folder(programs, home.path(), &location, url).await?;
    let started = Instant::now();
    let month = fill(&world, &agents, RowWriter::open_postgres(&database)).await?;
    database.vacuum_and_checkpoint().await?;
    let load_time = started.elapsed();
    let measured = measure(programs, home.path(), url, &month, (load_time, count)).await?;
    server.drop_database(&database).await?;
    Ok(measured)
}

/// Lets the product create its data folder and its schema. Returns the database, with a second machine for the runs
/// that have not ended, and the agents.
async fn create_data_folder(
    programs: &Programs,
    folder: &Path,
    location: &Location,
    database: Option<&str>,
) -> Result<(Fixture, Vec<AgentId>)> {
    let status = Command::new(&programs.matins)
        .args(["--data".as_ref(), folder.as_os_str()])
        .args(database_options(database))
        .args(["automation", "list"])
        .stdout(Stdio::null())
        .status()
        .await?;
    ensure!(
        status.success(),
        "`matins automation list` ended with {status}"
    );
    let entropy = fixture::system_entropy();
    let database = store::open(location).await?;
    let store = Store::new(database, Arc::clone(&entropy), folder.join("sessions"));
    let tenant = store.ensure_tenant("default", now()).await?;
    let agents = store.agents(Scope::Tenant(tenant)).await?;
    let agents: Vec<AgentId> = agents.into_iter().map(|agent| agent.id).collect();
    let instance = InstanceId::generate(now(), &*entropy);
    store
        .register_instance(tenant, instance, "other-machine", now())
        .await?;
    let world = Fixture {
        tenant,
        agent: *agents.first().context("the data folder has no agent")?,
        instance,
        worker: WorkerId::generate("other-machine", 1, &*entropy),
        store,
        entropy,
    };
    Ok((world, agents))
}

/// Fills the database, and closes it.
async fn fill(
    world: &Fixture,
    agents: &[AgentId],
    writer: impl Future<Output = Result<RowWriter>>,
) -> Result<Month> {
    let planned = month::plan(world, agents, now()).await?;
    // The writer locks the file, so that it must not begin before the automations are created.
    let month = planned.insert(writer.await?).await?;
    world.store.database().close().await;
    Ok(month)
}

/// Starts a server, sends each request `count` times, and checks that nothing else happened meanwhile.
async fn measure(
    programs: &Programs,
    folder: &Path,
    database: Option<&str>,
    month: &Month,
    (load_time, count): (Duration, usize),
) -> Result<PageMeasurement> {
    let address = free_address()?;
    let options = database_options(database);
    let server = ServerProcess::start_at(programs, folder, "error", address, &options).await?;
    let token = std::fs::read_to_string(folder.join("token"))?;
    let address = format!("http://{address}");
    let client = Client::with_address(&address, token.trim(), fixture::system_entropy())?;
    let requests = Arc::new(requests(month));

    let finished = Arc::new(AtomicBool::new(false));
    let writer = write_now_and_then(
        client.clone(),
        month.conversations.clone(),
        Arc::clone(&finished),
    );
    let writer = tokio::spawn(writer);
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let rounds = count / CLIENTS + usize::from(number < count % CLIENTS);
        // Each client begins with another request.
        let first = number * requests.len() / CLIENTS;
        clients.spawn(send_by_turns(
            client.clone(),
            Arc::clone(&requests),
            first,
            rounds,
        ));
    }
    let mut times = vec![Vec::with_capacity(count); requests.len()];
    while let Some(sent) = clients.join_next().await {
        for (all, some) in times.iter_mut().zip(sent??) {
            all.extend(some);
        }
    }
    finished.store(true, Relaxed);
    let writes = writer.await??;

    let counts = client.overview(None).await?.counts;
    ensure!(
        counts.running == u64::try_from(RUNNING)?,
        "{} turns run at the end instead of {RUNNING}",
        counts.running
    );
    server.stop().await?;
    let requests = requests.iter().zip(times).map(|(request, mut times)| {
        times.sort_unstable();
        RequestTimes {
            name: request.name,
            aim: request.aim,
            times,
        }
    });
    Ok(PageMeasurement {
        load_time,
        writes,
        requests: requests.collect(),
    })
}

/// Sends all requests, one after the other, in each round. Returns the times of each request.
async fn send_by_turns(
    client: Client,
    requests: Arc<Vec<Request>>,
    first: usize,
    rounds: usize,
) -> Result<Vec<Vec<Duration>>> {
    let mut times = vec![Vec::with_capacity(rounds); requests.len()];
    for round in 0..WARM_UP_ROUNDS + rounds {
        for turn in 0..requests.len() {
            let position = (first + turn) % requests.len();
            let request = &requests[position];
            sleep(THINK_TIME).await;
            let began = Instant::now();
            let found = request.operation.send(&client).await;
            let took = began.elapsed();
            let found = found.with_context(|| format!("the request `{}`", request.name))?;
            ensure!(found > 0, "the request `{}` found nothing", request.name);
            if round >= WARM_UP_ROUNDS {
                times[position].push(took);
            }
        }
    }
    Ok(times)
}

/// Changes the title of one conversation after the other until `finished`. Returns the number of changes.
async fn write_now_and_then(
    client: Client,
    conversations: Vec<SessionId>,
    finished: Arc<AtomicBool>,
) -> Result<usize> {
    let mut writes = 0;
    while !finished.load(Relaxed) {
        let session = conversations[writes % conversations.len()].to_string();
        let title = Change::To(format!("Question {writes} about the release, again"));
        client
            .edit_session(&session, &SessionPatch { title }, None)
            .await?;
        writes += 1;
        sleep(WRITE_PERIOD).await;
    }
    Ok(writes)
}

impl Operation {
    /// Sends the request, and returns the number of found items.
    async fn send(&self, client: &Client) -> Result<usize> {
        Ok(match self {
            Self::Overview(since) => {
                let counts = client.overview(Some(*since)).await?.counts;
                usize::try_from(counts.succeeded)?
            }
            Self::Timeline(filter) => client.timeline(filter).await?.lanes.len(),
            Self::Automations(filter) => client.automations(filter).await?.items.len(),
            Self::Runs(filter) => client.runs(filter).await?.items.len(),
            Self::Sessions(filter) => client.sessions(filter).await?.items.len(),
            Self::Approvals(filter) => client.approvals(filter).await?.items.len(),
        })
    }
}

/// Returns the requests of the page.
#[expect(clippy::too_many_lines, reason = "a table, one entry for each request")]
fn requests(month: &Month) -> Vec<Request> {
    let before = |hours| month.end.saturating_sub(Duration::from_hours(hours));
    let page = || PageParams::first(PAGE_ITEMS);
    let overview = |name, hours| Request {
        name,
        aim: OVERVIEW_AIM,
        operation: Operation::Overview(before(hours)),
    };
    let timeline = |name, hours, lanes| Request {
        name,
        aim: TIMELINE_AIM,
        operation: Operation::Timeline(TimelineFilter {
            from: Some(before(hours)),
            lanes: Some(lanes),
            ..TimelineFilter::default()
        }),
    };
    let list = |name, operation| Request {
        name,
        aim: LIST_AIM,
        operation,
    };
    let automations = |name, text: Option<&str>| {
        list(
            name,
            Operation::Automations(AutomationFilter {
                text: text.map(str::to_owned),
                page: page(),
                ..AutomationFilter::default()
            }),
        )
    };
    let runs = |name, filter| {
        let filter = RunFilter {
            page: page(),
            ..filter
        };
        list(name, Operation::Runs(filter))
    };
    let any = RunFilter::default;
    let sessions = |name, filter| {
        let filter = SessionFilter {
            page: page(),
            ..filter
        };
        list(name, Operation::Sessions(filter))
    };
    let approvals = |name, states| {
        list(
            name,
            Operation::Approvals(ApprovalFilter {
                states,
                page: page(),
                ..ApprovalFilter::default()
            }),
        )
    };
    let middle = PageParams {
        after: Some(RunId::first_at(before(15 * 24)).to_string()),
        limit: Some(PAGE_ITEMS),
    };
    vec![
        overview("overview since a day", 24),
        overview("overview since a night", 12),
        overview("overview since a week", 7 * 24),
        timeline("timeline from a day ago, 8 lanes", 24, 8),
        timeline("timeline from a week ago, 20 lanes", 7 * 24, 20),
        automations("automations", None),
        automations("automations with a name", Some("review")),
        runs("runs", any()),
        list(
            "runs, a page of the middle",
            Operation::Runs(RunFilter {
                page: middle,
                ..any()
            }),
        ),
        runs(
            "runs that failed or stalled",
            RunFilter {
                runs: RunFilterRequest {
                    status: vec![RunStatus::Failed, RunStatus::Stalled],
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs that run",
            RunFilter {
                runs: RunFilterRequest {
                    status: vec![RunStatus::Running],
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs of an automation",
            RunFilter {
                runs: RunFilterRequest {
                    automation: Some(month.hourly.clone()),
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs of an automation that failed",
            RunFilter {
                runs: RunFilterRequest {
                    automation: Some(month.hourly.clone()),
                    status: vec![RunStatus::Failed],
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs of a day, a week ago",
            RunFilter {
                runs: RunFilterRequest {
                    from: Some(before(7 * 24)),
                    to: Some(before(6 * 24)),
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs with a reason",
            RunFilter {
                runs: RunFilterRequest {
                    reason: Some("sign_in".into()),
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        runs(
            "runs of people",
            RunFilter {
                runs: RunFilterRequest {
                    origin: Some(Origin::Person),
                    ..RunFilterRequest::default()
                },
                ..any()
            },
        ),
        sessions("sessions", SessionFilter::default()),
        sessions(
            "conversations by their last change",
            SessionFilter {
                types: vec![SessionType::Regular],
                by_change: true,
                ..SessionFilter::default()
            },
        ),
        sessions(
            "sessions with a title",
            SessionFilter {
                text: Some("about the release".into()),
                ..SessionFilter::default()
            },
        ),
        approvals("approvals that wait", ApprovalStates::Pending),
        approvals("approvals", ApprovalStates::Any),
    ]
}

/// Prints the report of one database.
pub(crate) fn print(database: &str, measured: &PageMeasurement) {
    let count = measured.requests.first().map_or(0, |one| one.times.len());
    println!(
        "\nRequests of the page with {AUTOMATIONS} automations and {RUNS} runs of {DAYS} days ({database}; {count} of each \
         from {CLIENTS} clients, pages of {PAGE_ITEMS}; {} writes meanwhile; loaded in {:.0} s)",
        measured.writes,
        measured.load_time.as_secs_f64(),
    );
    for RequestTimes { name, aim, times } in &measured.requests {
        println!(
            "  {name:<36} {}  (p99 at most {} ms)",
            format_quantiles(times),
            aim.as_millis()
        );
    }
}
