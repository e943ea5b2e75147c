//! Measures the requests of the web page over HTTP, with a [month](super::month) of work in the database.
//!
//! One client alone sends all requests by turns, because the aims are about a person who waits. Then some clients do so,
//! each with a pause before each request, while another one writes now and then. The time of a request ends when the
//! client has read the response and its JSON.

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
use api_types::{Change, SessionPatch};
use client::Client;
use model::{AgentId, InstanceId, SessionId, WorkerId};
use store::{Location, Scope, Store};
use tokio::{process::Command, task::JoinSet, time::sleep};

use super::{
    fixture::{self, Fixture, now},
    folder::new_folder,
    idle_server::{ServerProcess, database_options},
    month::{self, AUTOMATIONS, DAYS, Month, RUNNING, RUNS},
    page_requests::{PAGE_ITEMS, Request, requests},
    postgres::PostgresServer,
    programs::Programs,
    set_insert::RowWriter,
    statistics::{ms, quantile},
    traces::free_address,
};

/// The number of clients beside the writer, each of which sends one request at a time.
const CLIENTS: usize = 3;
/// The time that each of them waits before each request.
const THINK_TIME: Duration = Duration::from_millis(50);
/// The time that the client alone waits before each request.
const THINK_TIME_ALONE: Duration = Duration::from_millis(10);
/// The time between two writes.
const WRITE_PERIOD: Duration = Duration::from_millis(200);
/// The number of times that each client sends each request before the measured ones.
const WARM_UP_ROUNDS: usize = 2;

/// The times of a request, sorted.
pub(crate) struct RequestTimes {
    name: &'static str,
    aim: Duration,
    /// Of the client alone.
    alone: Vec<Duration>,
    /// Of the clients beside the writer.
    loaded: Vec<Duration>,
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

    let alone = send_by_turns(
        client.clone(),
        Arc::clone(&requests),
        THINK_TIME_ALONE,
        (0, count),
    );
    let alone = alone.await?;
    let (loaded, writes) = send_beside_writer(&client, &requests, month, count).await?;

    let counts = client.overview(None).await?.counts;
    ensure!(
        counts.running == u64::try_from(RUNNING)?,
        "{} turns run at the end instead of {RUNNING}",
        counts.running
    );
    server.stop().await?;
    let times = alone.into_iter().zip(loaded);
    let requests = requests
        .iter()
        .zip(times)
        .map(|(request, (mut alone, mut loaded))| {
            alone.sort_unstable();
            loaded.sort_unstable();
            RequestTimes {
                name: request.name,
                aim: request.aim,
                alone,
                loaded,
            }
        });
    Ok(PageMeasurement {
        load_time,
        writes,
        requests: requests.collect(),
    })
}

/// Sends each request `count` times, from several clients, while another one writes. Returns the times of each request,
/// and the number of writes.
async fn send_beside_writer(
    client: &Client,
    requests: &Arc<Vec<Request>>,
    month: &Month,
    count: usize,
) -> Result<(Vec<Vec<Duration>>, usize)> {
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
            Arc::clone(requests),
            THINK_TIME,
            (first, rounds),
        ));
    }
    let mut times = vec![Vec::with_capacity(count); requests.len()];
    while let Some(sent) = clients.join_next().await {
        for (all, some) in times.iter_mut().zip(sent??) {
            all.extend(some);
        }
    }
    finished.store(true, Relaxed);
    Ok((times, writer.await??))
}

/// Sends all requests, one after the other, in each round, beginning with the request `first`. Returns the times of each
/// request.
async fn send_by_turns(
    client: Client,
    requests: Arc<Vec<Request>>,
    think_time: Duration,
    (first, rounds): (usize, usize),
) -> Result<Vec<Vec<Duration>>> {
    let mut times = vec![Vec::with_capacity(rounds); requests.len()];
    for round in 0..WARM_UP_ROUNDS + rounds {
        for turn in 0..requests.len() {
            let position = (first + turn) % requests.len();
            let request = &requests[position];
            sleep(think_time).await;
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

/// Prints the report of one database, in lines of at most 80 columns.
pub(crate) fn print(database: &str, measured: &PageMeasurement) {
    let count = measured.requests.first().map_or(0, |one| one.alone.len());
    println!(
        "\nRequests of the page ({database}), {AUTOMATIONS} automations and {RUNS} runs of {DAYS} days,\n\
         pages of {PAGE_ITEMS}, each sent {count} times by one client alone, and then as often by\n\
         {CLIENTS} clients beside a writer ({} writes); loaded in {:.0} s. In milliseconds; the\n\
         aims are for the p99 alone, and `!` marks a p99 above its aim:",
        measured.writes,
        measured.load_time.as_secs_f64(),
    );
    println!("                                      aim alone  p50    p99 loaded p50    p99");
    for request in &measured.requests {
        let [alone, loaded] = [&request.alone, &request.loaded]
            .map(|times| [0.5, 0.99].map(|part| ms(quantile(times, part))));
        let over = if alone[1] > ms(request.aim) { " !" } else { "" };
        println!(
            "  {:<34} {:>4} {:>10.1} {:>6.1} {:>10.1} {:>6.1}{over}",
            request.name,
            request.aim.as_millis(),
            alone[0],
            alone[1],
            loaded[0],
            loaded[1],
        );
    }
}
