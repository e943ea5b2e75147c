//! A drain with plain SQL statements in batches, as a baseline: it writes the same rows as a drain of Matins, so its
//! time is the cost of the tables alone.
//!
//! The schema is that of Matins, with its indexes, foreign keys, checks, triggers and row-level security, and Matins
//! has filled the queue. Each batch has the same three commits: the claim with heartbeats; the begin with records, the
//! count of turns, inputs in the transcript and two events; the end with answers, two events, and the next input of
//! each seat with its event. The statements are as few as possible. They make no decisions and take no further locks:
//! they ignore budgets, prechecks, approvals, paused sessions and other workers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::{Result, ensure};
use model::{
    Entropy, MessageId, TenantId,
    prompt::{self, PromptContext, PromptTemplate, RenderedPrompt},
};
use serde_json::json;
use sqlx::{Connection as _, Executor as _, PgConnection, types::Json, types::Uuid};
use tokio::task::JoinSet;

use super::fixture::{Fixture, now};
use crate::postgres::Database;

/// The maximum number of runs in one batch.
pub(crate) const BATCH_RUNS: i64 = 1000;
/// The number of concurrent connections.
pub(crate) const CONNECTIONS: usize = 2;

const CLAIM_RUNS: &str = "with chosen as materialized (
    select id from agent_runs where status = 'queued'
    order by priority, input_at, id limit $1 for update skip locked
), claimed as (
    update agent_runs r set status = 'delivered', worker_id = $2, claimed_at = cast($3 as timestamptz)
    from chosen where r.id = chosen.id
    returning r.id, r.tenant_id, r.session_id, r.seat_id
), beats as (
    insert into run_heartbeats (run_id, tenant_id, worker_id, beat_at)
    select id, tenant_id, $2, cast($3 as timestamptz) from claimed
)
select id, session_id, seat_id from claimed";

const BEGIN_RUNS: &str = "update agent_runs set status = 'running', started_at = cast($2 as timestamptz), \
     prompt_ref = $3, instance_id = $4 where id = any($1) and status = 'delivered'";

const PIN_INSTANCE: &str = "update agent_definitions set instance_id = $2, updated_at = cast($3 as timestamptz) \
     where instance_id is null and id = any($1)";

const BEGIN_RECORDS: &str = "insert into run_records (run_id, tenant_id, prompt_ref, rendered_prompt, \
     variables, diagnostics, created_at, updated_at) \
     select run, $2, $3, $4, $5, '{}', cast($6 as timestamptz), cast($6 as timestamptz) \
     from unnest($1) as run";

const INSERT_INPUTS: &str = "with item as (
    select * from unnest($1, $2, $3) as item (run, session, message)
), numbered as (
    update agent_sessions set last_seq = last_seq + 2, updated_at = cast($5 as timestamptz)
    where id = any($2) returning id, last_seq
), shown as (
    insert into agent_messages
        (id, tenant_id, session_id, seq, run_id, role, kind, content, metadata, created_at)
    select message, $4, session, last_seq - 1, run, 'user', 'message', $6, '{}', cast($5 as timestamptz)
    from item join numbered on numbered.id = item.session
)
insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
select session, last_seq - 1, $4, 'message', message, $7, cast($5 as timestamptz)
from item join numbered on numbered.id = item.session
union all
select session, last_seq, $4, 'run', run, $8, cast($5 as timestamptz)
from item join numbered on numbered.id = item.session";

/// The last statement of its transaction, because all batches write the same row and would block each other.
const COUNT_TURNS: &str = "insert into spending
    (tenant_id, spender_id, day, currency, tokens, cost, turns)
values ($1, $1, date_trunc('day', cast($2 as timestamptz), 'UTC'), '', 0, 0, $3)
on conflict (spender_id, day, currency) do update set turns = spending.turns + excluded.turns";

const END_RUNS: &str = "update agent_runs set status = 'succeeded', ended_at = cast($2 as timestamptz), \
     stop_reason = 'end_turn', acp_session_id = 'bench' where id = any($1) and status = 'running'";

const END_HEARTBEATS: &str = "delete from run_heartbeats where run_id = any($1)";

const END_RECORDS: &str = "update run_records set diagnostics = '{}', error = null, \
     updated_at = cast($2 as timestamptz) where run_id = any($1)";

const UPDATE_SEATS: &str = "update agent_definitions set acp_session_id = 'bench', turns = turns + 1, \
     updated_at = cast($2 as timestamptz) where id = any($1)";

const PROMOTE_NEXT_RUNS: &str = "update agent_runs set status = 'queued', instance_id = $2
from (
    select waiting.id from unnest($1) as seat
    cross join lateral (
        select id from agent_runs where seat_id = seat and status = 'deferred'
        order by priority, input_at, id limit 1
    ) waiting
) next
where agent_runs.id = next.id
returning agent_runs.id, agent_runs.session_id";

const INSERT_ANSWERS: &str = "with item as (
    select item.*, next.promoted from unnest($1, $2, $3, $4) as item (run, session, seat, message)
    left join unnest($5, $6) as next (promoted, session) on next.session = item.session
), numbered as (
    update agent_sessions
    set last_seq = last_seq + case when promoted is null then 2 else 3 end,
        updated_at = cast($8 as timestamptz)
    from item where agent_sessions.id = item.session
    returning item.*, last_seq - case when promoted is null then 2 else 3 end as before
), shown as (
    insert into agent_messages
        (id, tenant_id, session_id, seq, run_id, from_seat_id, role, kind, content, metadata, created_at)
    select message, $7, session, before + 1, run, seat, 'assistant', 'message', $9,
        '{\"outcome\": \"succeeded\"}', cast($8 as timestamptz)
    from numbered
)
insert into session_events (session_id, seq, tenant_id, kind, ref_id, body, created_at)
select session, before + 1, $7, 'message', message, $10, cast($8 as timestamptz) from numbered
union all
select session, before + 2, $7, 'run', run, $11, cast($8 as timestamptz) from numbered
union all
select session, before + 3, $7, 'run', promoted, '{\"status\": \"queued\"}', cast($8 as timestamptz)
from numbered where promoted is not null";

/// The runs of one batch, with their sessions and seats.
struct Batch {
    runs: Vec<Uuid>,
    sessions: Vec<Uuid>,
    seats: Vec<Uuid>,
}

/// A connection that drains batches.
struct Writer {
    connection: PgConnection,
    entropy: Arc<dyn Entropy>,
    tenant: TenantId,
    instance: Uuid,
    worker: String,
    prompt: RenderedPrompt,
}

/// Drains `runs` queued runs on several connections.
pub(crate) async fn drain(world: &Fixture, database: &Database, runs: usize) -> Result<()> {
    let ended = Arc::new(AtomicUsize::new(0));
    let mut writers = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let mut writer = Writer::open(world, database).await?;
        let ended = Arc::clone(&ended);
        writers.spawn(async move {
            while ended.load(Ordering::SeqCst) < runs {
                let batch = writer.claim().await?;
                if batch.runs.is_empty() {
                    // The other connections have claimed all remaining runs. Their ends may queue further ones.
                    tokio::task::yield_now().await;
                    continue;
                }
                writer.begin(&batch).await?;
                writer.end(&batch).await?;
                ended.fetch_add(batch.runs.len(), Ordering::SeqCst);
            }
            writer.connection.close().await?;
            anyhow::Ok(())
        });
    }
    while let Some(done) = writers.join_next().await {
        done??;
    }
    let ended = ended.load(Ordering::SeqCst);
    ensure!(ended == runs, "only {ended} of {runs} runs have ended");
    Ok(())
}

impl Writer {
    async fn open(world: &Fixture, database: &Database) -> Result<Self> {
        let mut connection = PgConnection::connect(&database.url).await?;
        connection
            .execute("set search_path = automation; set matins.scope = 'system'")
            .await?;
        let prompt = prompt::render_turn_prompt(&PromptContext {
            template: PromptTemplate::Message,
            content: "What is due today?",
            trigger: None,
            scheduled_for: None,
            payload: None,
            interrupted: None,
            earlier_state: None,
        })?;
        Ok(Self {
            connection,
            entropy: Arc::clone(&world.entropy),
            tenant: world.tenant,
            instance: world.instance.uuid(),
            worker: world.worker.to_string(),
            prompt,
        })
    }

    /// Returns new message IDs, one for each run.
    fn new_message_ids(&self, batch: &Batch) -> Vec<Uuid> {
        let now = now();
        let message = |_| MessageId::generate(now, &*self.entropy).uuid();
        batch.runs.iter().map(message).collect()
    }

    async fn claim(&mut self) -> Result<Batch> {
        let claimed: Vec<(Uuid, Uuid, Uuid)> = sqlx::query_as(CLAIM_RUNS)
            .bind(BATCH_RUNS)
            .bind(&self.worker)
            .bind(now().to_string())
            .fetch_all(&mut self.connection)
            .await?;
        Ok(Batch {
            runs: claimed.iter().map(|row| row.0).collect(),
            sessions: claimed.iter().map(|row| row.1).collect(),
            seats: claimed.iter().map(|row| row.2).collect(),
        })
    }

    async fn begin(&mut self, batch: &Batch) -> Result<()> {
        let messages = self.new_message_ids(batch);
        let (now, tenant) = (now().to_string(), self.tenant.uuid());
        let reference = Json(&self.prompt.prompt_ref);
        let mut transaction = self.connection.begin().await?;
        let started = sqlx::query(BEGIN_RUNS)
            .bind(&batch.runs)
            .bind(&now)
            .bind(reference)
            .bind(self.instance)
            .execute(&mut *transaction)
            .await?;
        ensure!(
            started.rows_affected() == batch.runs.len() as u64,
            "a claimed run changed its status"
        );
        sqlx::query(PIN_INSTANCE)
            .bind(&batch.seats)
            .bind(self.instance)
            .bind(&now)
            .execute(&mut *transaction)
            .await?;
        sqlx::query(BEGIN_RECORDS)
            .bind(&batch.runs)
            .bind(tenant)
            .bind(reference)
            .bind(&self.prompt.text)
            .bind(Json(&self.prompt.variables))
            .bind(&now)
            .execute(&mut *transaction)
            .await?;
        let message = json!({ "role": "user", "kind": "message" });
        let run = json!({ "status": "running", "attempt": 1, "worker_id": self.worker });
        sqlx::query(INSERT_INPUTS)
            .bind(&batch.runs)
            .bind(&batch.sessions)
            .bind(&messages)
            .bind(tenant)
            .bind(&now)
            .bind("What is due today?")
            .bind(Json(message))
            .bind(Json(run))
            .execute(&mut *transaction)
            .await?;
        sqlx::query(COUNT_TURNS)
            .bind(tenant)
            .bind(&now)
            .bind(i64::try_from(batch.runs.len())?)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn end(&mut self, batch: &Batch) -> Result<()> {
        let messages = self.new_message_ids(batch);
        let (now, tenant) = (now().to_string(), self.tenant.uuid());
        let mut transaction = self.connection.begin().await?;
        let ended = sqlx::query(END_RUNS)
            .bind(&batch.runs)
            .bind(&now)
            .execute(&mut *transaction)
            .await?;
        ensure!(
            ended.rows_affected() == batch.runs.len() as u64,
            "a claimed run changed its status"
        );
        sqlx::query(END_HEARTBEATS)
            .bind(&batch.runs)
            .execute(&mut *transaction)
            .await?;
        for (statement, ids) in [(END_RECORDS, &batch.runs), (UPDATE_SEATS, &batch.seats)] {
            sqlx::query(statement)
                .bind(ids)
                .bind(&now)
                .execute(&mut *transaction)
                .await?;
        }
        let next: Vec<(Uuid, Uuid)> = sqlx::query_as(PROMOTE_NEXT_RUNS)
            .bind(&batch.seats)
            .bind(self.instance)
            .fetch_all(&mut *transaction)
            .await?;
        let (promoted, waited): (Vec<Uuid>, Vec<Uuid>) = next.into_iter().unzip();
        let message = json!({ "role": "assistant", "kind": "message" });
        let run = json!({ "status": "succeeded", "reason": null, "attempt": 1 });
        sqlx::query(INSERT_ANSWERS)
            .bind(&batch.runs)
            .bind(&batch.sessions)
            .bind(&batch.seats)
            .bind(&messages)
            .bind(&promoted)
            .bind(&waited)
            .bind(tenant)
            .bind(&now)
            .bind("Nothing is due today.")
            .bind(Json(message))
            .bind(Json(run))
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }
}
