//! Checks a PostgreSQL database that several servers share: its clock, poolers, privileges, long transactions,
//! autovacuum and connections. A SQLite database has none of these checks.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc, time::Duration};

use daemon::FleetClock;
use model::{Clock, Timestamp, limits};
use server::{OsEntropy, SystemClock, SystemUptime};
use service::excerpt;
use store::{
    DeadRows, OpenTransaction, PoolingMode, PostgresStatus, Scope, Store, database::Dialect,
};

use crate::{
    database::OpenedDatabase,
    finding::Finding,
    formatting::{format_count, format_duration, with_sources},
};

/// The difference between the clocks of this machine and of the database from which on there is a warning.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(1);
/// The maximum age of an idle transaction. Matins ends its own idle transactions earlier.
const MAX_IDLE_TRANSACTION_AGE: Duration = Duration::from_mins(2);
/// The maximum age of any transaction.
const MAX_TRANSACTION_AGE: Duration = Duration::from_mins(15);
/// The number of dead rows of a table up to which there is no warning.
const MAX_DEAD_ROWS: u64 = 50_000;
/// The maximum number of characters of a name in a finding.
const MAX_EXCERPT_CHARS: usize = 120;

/// Returns the clock of all later checks: the clock of the database on PostgreSQL, and the system clock otherwise. On
/// PostgreSQL, also adds a finding about the difference between both.
pub(crate) async fn database_clock(
    opened: Option<&OpenedDatabase>,
    findings: &mut Vec<Finding>,
) -> Arc<dyn Clock> {
    let own: Arc<dyn Clock> = Arc::new(SystemClock);
    let Some(store) = opened.and_then(shared_store) else {
        return own;
    };
    let clock = FleetClock::new(own, Arc::new(SystemUptime));
    findings.push(match clock.read(&store).await {
        Ok(()) => clock_difference_finding(clock.machine_clock_lead_micros(), clock.uncertainty()),
        Err(error) => {
            let found = format!("it cannot be read: {}", with_sources(&error));
            unknown_clock_finding(&found)
        }
    });
    Arc::new(clock)
}

/// Checks the PostgreSQL server of the database. Returns no findings on SQLite.
pub(crate) async fn check_database_server(opened: &OpenedDatabase, now: Timestamp) -> Vec<Finding> {
    let Some(store) = shared_store(opened) else {
        return Vec::new();
    };
    let checked = async {
        let server = store.postgres_status().await?;
        let instances = store.instances(Scope::System).await?.into_iter();
        // Each tenant that uses an instance has a row of its own for it, so count distinct IDs.
        let instances = instances
            .map(|instance| instance.id)
            .collect::<BTreeSet<_>>()
            .len();
        let mut findings =
            server.map_or_else(Vec::new, |server| server_findings(&server, instances, now));
        findings.extend(store.database().pooling_mode().map(pooler_finding));
        Ok::<_, store::Error>(findings)
    };
    match checked.await {
        Ok(findings) => findings,
        Err(error) => {
            let remedy = error
                .hint()
                .unwrap_or("check the log of the database server");
            let found = with_sources(&error);
            vec![Finding::warning("database", found, remedy)]
        }
    }
}

/// Returns a store over the database if it is a PostgreSQL database.
fn shared_store(opened: &OpenedDatabase) -> Option<Store> {
    let database = opened.database.clone();
    (database.dialect() == Dialect::Postgres)
        .then(|| Store::new(database, Arc::new(OsEntropy), PathBuf::new()))
}

/// Returns the finding that the clock of the database is not known accurately enough.
fn unknown_clock_finding(found: &str) -> Finding {
    let remedy = "find out why the database answers slowly: a server on this machine creates, claims and gives \
                  up no runs until the clock is known within 5 s";
    Finding::problem("database clock", found, remedy)
}

/// Returns a finding about the difference between the clock of this machine and the clock of the database.
fn clock_difference_finding(own_ahead_micros: Option<i64>, uncertainty: Duration) -> Finding {
    const CHECK: &str = "database clock";
    let Some(ahead) = own_ahead_micros else {
        return unknown_clock_finding("it could not be read");
    };
    if uncertainty > limits::MAX_CLOCK_UNCERTAINTY {
        let found = format!(
            "it is known only within {}",
            format_clock_difference(uncertainty)
        );
        return unknown_clock_finding(&found);
    }
    let apart = Duration::from_micros(ahead.unsigned_abs());
    let side = if ahead < 0 { "behind" } else { "ahead of" };
    let found = format!(
        "this machine is {} {side} it, known within {}",
        format_clock_difference(apart),
        format_clock_difference(uncertainty)
    );
    if apart < MAX_CLOCK_DIFFERENCE {
        return Finding::ok(CHECK, found);
    }
    let found = format!("{found}; Matins uses the clock of the database");
    let remedy = "set both by NTP, because logs and agents on this machine show another time";
    Finding::warning(CHECK, found, remedy)
}

/// Formats a duration, in milliseconds if it is shorter than ten seconds.
fn format_clock_difference(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        format!("{} ms", time.as_micros().div_ceil(1000))
    } else {
        format_duration(time)
    }
}

/// Returns a finding about a connection pooler between this machine and the server.
fn pooler_finding(sessions: PoolingMode) -> Finding {
    const CHECK: &str = "database pooler";
    match sessions {
        PoolingMode::Session => Finding::ok(CHECK, "connections keep their sessions"),
        PoolingMode::Transaction {
            has_direct_address: true,
        } => Finding::ok(
            CHECK,
            "a pooler lends connections out for one transaction each; notifications arrive at the direct address",
        ),
        PoolingMode::Transaction {
            has_direct_address: false,
        } => Finding::warning(
            CHECK,
            "a pooler lends connections out for one transaction each: no statement is prepared, and changes \
             are polled once a second",
            "set database_direct (MATINS_DATABASE_DIRECT) to the server's own address, for notifications and \
             migrations",
        ),
    }
}

/// Returns the findings about the server, without those about its clock and pooler.
fn server_findings(server: &PostgresStatus, instances: usize, now: Timestamp) -> Vec<Finding> {
    let mut findings = privilege_findings(server);
    findings.push(transaction_finding(&server.transactions, now));
    findings.extend(autovacuum_findings(server));
    findings.push(connection_finding(server, instances));
    findings
}

/// Returns findings about missing privileges of the role, or one finding if none is missing.
fn privilege_findings(server: &PostgresStatus) -> Vec<Finding> {
    const CHECK: &str = "database role";
    let it = &server.privileges;
    let role = excerpt(&it.role, MAX_EXCERPT_CHARS);
    let mut findings = Vec::new();
    if !it.may_use {
        let found = format!("{role} may not use the schema automation");
        let remedy = format!("grant usage on schema automation to {role}");
        findings.push(Finding::problem(CHECK, found, remedy));
    }
    if let Some(tables) = &it.inaccessible_tables {
        let found = format!("{role} may not read and write {tables}");
        let remedy = format!("grant select, insert, update and delete on them to {role}");
        findings.push(Finding::problem(CHECK, found, remedy));
    }
    let obstacle = match &it.tables_of_other_roles {
        Some(tables) => Some(format!("other roles own {tables}")),
        None if !it.may_create => Some("it may create nothing in the schema automation".to_owned()),
        None => None,
    };
    if let Some(obstacle) = obstacle {
        let found = format!("{role} cannot upgrade the schema: {obstacle}");
        let remedy = "make it the owner of the schema and of everything in it";
        findings.push(Finding::warning(CHECK, found, remedy));
    }
    if findings.is_empty() {
        let found = format!("{role} has all required privileges");
        findings.push(Finding::ok(CHECK, found));
    }
    findings
}

/// Returns a warning about the oldest transaction that exceeds its maximum age.
fn transaction_finding(open: &[OpenTransaction], now: Timestamp) -> Finding {
    const CHECK: &str = "transactions";
    let age = |it: &OpenTransaction| now.since(it.started_at);
    let long: Vec<_> = open
        .iter()
        // An idle transaction does no work, so it is allowed much less time.
        .filter(|it| {
            age(it)
                > if it.idle {
                    MAX_IDLE_TRANSACTION_AGE
                } else {
                    MAX_TRANSACTION_AGE
                }
        })
        .collect();
    let Some(oldest) = long.iter().max_by_key(|it| age(it)) else {
        return Finding::ok(CHECK, "none has been open for long");
    };
    let who = [&oldest.program, &oldest.role];
    let who: Vec<_> = who
        .into_iter()
        .flatten()
        .map(|name| excerpt(name, MAX_EXCERPT_CHARS))
        .filter(|name| !name.is_empty())
        .collect();
    let who = if who.is_empty() {
        String::new()
    } else {
        format!(" ({})", who.join(", "))
    };
    let state = if oldest.idle { "open and idle" } else { "open" };
    let more = match long.len() {
        1 => String::new(),
        all => format!("; and {} more", all - 1),
    };
    let found = format!(
        "the transaction of process {}{who} has been {state} for {}{more}",
        oldest.process,
        format_duration(age(oldest))
    );
    let remedy = format!(
        "end it, if necessary with `select pg_terminate_backend({})`: until then vacuum removes no row that \
         was changed since it started, and the feed is delayed if it has written",
        oldest.process
    );
    Finding::warning(CHECK, found, remedy)
}

/// Returns warnings about disabled autovacuum and about tables with many dead rows.
fn autovacuum_findings(server: &PostgresStatus) -> Vec<Finding> {
    const CHECK: &str = "autovacuum";
    let mut findings = Vec::new();
    if !server.autovacuum_enabled {
        let remedy = "set autovacuum and track_counts to on: otherwise tables grow and become slow";
        findings.push(Finding::warning(CHECK, "it is off", remedy));
    }
    if let Some(tables) = &server.tables_without_autovacuum {
        let found = format!("it leaves out {tables}");
        let remedy = "reset their parameter autovacuum_enabled with alter table";
        findings.push(Finding::warning(CHECK, found, remedy));
    }
    let tables = &server.vacuum.tables;
    // A large table always contains some dead rows, so they count only if they outnumber its live rows.
    let excessive = |it: &&DeadRows| it.dead > MAX_DEAD_ROWS && it.dead > it.live;
    for DeadRows { table, dead, live } in tables.iter().filter(excessive) {
        let found = format!("{table} has {dead} dead rows and {live} live rows");
        let remedy = format!(
            "find the reason, such as an old transaction or a replication slot, then run `vacuum \
             automation.{table}`"
        );
        findings.push(Finding::warning(CHECK, found, remedy));
    }
    if findings.is_empty() {
        let dead: u64 = tables.iter().map(|it| it.dead).sum();
        let dead = usize::try_from(dead).unwrap_or(usize::MAX);
        let found = format!(
            "on; {} in the tables that change most",
            format_count(dead, "dead row", "dead rows")
        );
        findings.push(Finding::ok(CHECK, found));
    }
    findings
}

/// Returns a warning if the server has too few connections for all known instances, or too few free ones for another
/// server.
fn connection_finding(server: &PostgresStatus, instances: usize) -> Finding {
    const CHECK: &str = "connections";
    let PostgresStatus {
        max_connections: allowed,
        total_connections: used,
        matins_connections: own,
        max_connections_per_process: each,
        ..
    } = server;
    let found = format!(
        "{used} of {allowed} are in use, {own} of them by Matins; a server opens up to {each}"
    );
    let all = u32::try_from(instances)
        .unwrap_or(u32::MAX)
        .saturating_mul(*each);
    if all > *allowed {
        let known_instances = format_count(instances, "instance", "instances");
        let found = format!("{found}, and {known_instances} are known");
        let remedy = "raise max_connections, or the limit of the role or the database";
        return Finding::warning(CHECK, found, remedy);
    }
    if allowed.saturating_sub(*used) < *each {
        let remedy = "raise max_connections, or let other programs use fewer connections";
        return Finding::warning(CHECK, found, remedy);
    }
    Finding::ok(CHECK, found)
}

#[cfg(test)]
mod tests {
    use store::{Privileges, VacuumStatus};

    use super::*;
    use crate::finding::Level;

    fn noon() -> Timestamp {
        "2026-11-23T12:00:00Z".parse().unwrap()
    }

    /// Returns the status of a server without any fault.
    fn healthy_server() -> PostgresStatus {
        PostgresStatus {
            privileges: Privileges {
                role: "matins".into(),
                may_use: true,
                may_create: true,
                inaccessible_tables: None,
                tables_of_other_roles: None,
            },
            transactions: Vec::new(),
            vacuum: VacuumStatus {
                oldest_transaction: None,
                tables: vec![DeadRows {
                    table: "run_heartbeats".into(),
                    dead: MAX_DEAD_ROWS,
                    live: 3,
                }],
            },
            autovacuum_enabled: true,
            tables_without_autovacuum: None,
            max_connections: 97,
            total_connections: 20,
            matins_connections: 11,
            max_connections_per_process: 11,
        }
    }

    fn open_transaction(seconds: u64, idle: bool) -> OpenTransaction {
        OpenTransaction {
            process: 4711,
            role: Some("report".into()),
            program: Some("psql".into()),
            idle,
            started_at: noon().saturating_sub(Duration::from_secs(seconds)),
        }
    }

    /// Returns the findings that are warnings or problems.
    fn warnings_and_problems(
        server: &PostgresStatus,
        instances: usize,
    ) -> Vec<(Level, String, String)> {
        let found = server_findings(server, instances, noon()).into_iter();
        let found = found.filter(|it| it.level != Level::Ok);
        found.map(|it| (it.level, it.check, it.found)).collect()
    }

    #[track_caller]
    fn assert_single_finding(server: &PostgresStatus, level: Level, check: &str, says: &str) {
        let found = warnings_and_problems(server, 2);
        let [(grave, name, text)] = found.as_slice() else {
            panic!("{found:#?}");
        };
        assert_eq!((*grave, name.as_str()), (level, check));
        assert!(text.contains(says), "{text}");
    }

    #[test]
    fn healthy_database_server_passes_every_check() {
        assert_eq!(warnings_and_problems(&healthy_server(), 2), []);
        let findings = server_findings(&healthy_server(), 2, noon());
        let checks: Vec<_> = findings.iter().map(|it| it.check.as_str()).collect();
        let all = ["database role", "transactions", "autovacuum", "connections"];
        assert_eq!(checks, all);
    }

    #[test]
    fn each_database_server_fault_has_its_own_finding() {
        let mut server = healthy_server();
        server.privileges.inaccessible_tables = Some("agent_runs, run_live".into());
        let says = "may not read and write agent_runs, run_live";
        assert_single_finding(&server, Level::Problem, "database role", says);

        let mut server = healthy_server();
        server.privileges.may_use = false;
        let says = "may not use the schema";
        assert_single_finding(&server, Level::Problem, "database role", says);

        let mut server = healthy_server();
        server.privileges.may_create = false;
        assert_single_finding(
            &server,
            Level::Warning,
            "database role",
            "may create nothing",
        );
        server.privileges.tables_of_other_roles = Some("agent_runs".into());
        assert_single_finding(
            &server,
            Level::Warning,
            "database role",
            "other roles own agent_runs",
        );

        let mut server = healthy_server();
        server.autovacuum_enabled = false;
        assert_single_finding(&server, Level::Warning, "autovacuum", "it is off");

        let mut server = healthy_server();
        server.tables_without_autovacuum = Some("run_live".into());
        assert_single_finding(&server, Level::Warning, "autovacuum", "leaves out run_live");

        let mut server = healthy_server();
        server.vacuum.tables[0].dead += 1;
        let says = "run_heartbeats has 50001 dead rows and 3 live rows";
        assert_single_finding(&server, Level::Warning, "autovacuum", says);
        // A large table always contains some dead rows.
        server.vacuum.tables[0].live = 1_000_000;
        assert_eq!(warnings_and_problems(&server, 2), []);
    }

    #[test]
    fn idle_transaction_is_reported_sooner_than_active_one() {
        for (open, is_reported) in [
            (open_transaction(120, true), false),
            (open_transaction(121, true), true),
            (open_transaction(900, false), false),
            (open_transaction(901, false), true),
        ] {
            let mut server = healthy_server();
            server.transactions = vec![open_transaction(1, true), open];
            assert_eq!(
                !warnings_and_problems(&server, 2).is_empty(),
                is_reported,
                "{server:#?}"
            );
        }
        let mut server = healthy_server();
        server.transactions = vec![open_transaction(3600, true), open_transaction(8000, false)];
        let says = "process 4711 (psql, report) has been open for 2 h; and 1 more";
        assert_single_finding(&server, Level::Warning, "transactions", says);
    }

    #[test]
    fn connection_limit_covers_all_instances_and_one_more() {
        let mut server = healthy_server();
        assert_eq!(warnings_and_problems(&server, 8), []);
        assert_eq!(warnings_and_problems(&server, 9).len(), 1);
        server.total_connections = 86;
        assert_eq!(warnings_and_problems(&server, 2), []);
        server.total_connections = 87;
        assert_single_finding(
            &server,
            Level::Warning,
            "connections",
            "87 of 97 are in use",
        );
    }

    #[test]
    fn clock_difference_of_one_second_is_reported() {
        let near = Duration::from_micros(400);
        for (ahead, level, says) in [
            (
                Some(-12_000),
                Level::Ok,
                "12 ms behind it, known within 1 ms",
            ),
            (Some(999_999), Level::Ok, "1000 ms ahead of it"),
            (
                Some(1_000_000),
                Level::Warning,
                "Matins uses the clock of the database",
            ),
            (Some(-600_000_000), Level::Warning, "10 min behind it"),
            (None, Level::Problem, "could not be read"),
        ] {
            let found = clock_difference_finding(ahead, near);
            assert_eq!(found.level, level, "{found:?}");
            assert!(found.found.contains(says), "{found:?}");
        }
        let far = clock_difference_finding(Some(0), limits::MAX_CLOCK_UNCERTAINTY + near);
        assert_eq!(far.level, Level::Problem);
    }
}
