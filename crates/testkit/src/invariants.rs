//! SQL queries that find violations of the invariants in `docs/testing.md`, in every state of a database whose logs
//! were not trimmed. Both kinds of databases understand them.

/// For each kind of violation, its name with the number of the invariant, and the query that returns the violating
/// rows.
pub const VIOLATION_QUERIES: &[(&str, &str)] = &[
    (
        "I1: two first attempts of one occurrence",
        "select trigger_id as id from agent_runs where attempt = 1 and trigger_id is not null \
         group by trigger_id, scheduled_for having count(*) > 1",
    ),
    (
        "I1: two rows for one attempt",
        "select input_id as id from agent_runs group by input_id, attempt having count(*) > 1",
    ),
    (
        "I2: two active runs of an exclusive automation",
        "select automation_id as id from agent_runs \
         where exclusive and status in ('queued', 'delivered', 'running') \
         group by automation_id having count(*) > 1",
    ),
    (
        "I2: two active runs on one seat",
        "select seat_id as id from agent_runs where status in ('queued', 'delivered', 'running') \
         group by seat_id having count(*) > 1",
    ),
    (
        "I3: a gap between attempts, or two open attempts",
        "select input_id as id from agent_runs group by input_id \
         having max(attempt) <> count(*) or min(attempt) <> 1 \
         or count(*) filter (where ended_at is null) > 1",
    ),
    (
        "I3: an attempt after one that has succeeded",
        "select later.id from agent_runs earlier join agent_runs later \
         on later.input_id = earlier.input_id and later.attempt > earlier.attempt \
         where earlier.status = 'succeeded'",
    ),
    (
        "I3: a final status without an end, or an end without a final status",
        "select id from agent_runs where (ended_at is null) \
         <> (status in ('queued', 'deferred', 'delivered', 'running'))",
    ),
    (
        "I3: an ended turn without a visible end",
        "select r.id from agent_runs r where r.started_at is not null and r.ended_at is not null \
         and not exists (select 1 from agent_messages m where m.run_id = r.id \
         and m.role in ('assistant', 'system'))",
    ),
    (
        "I3: an input in the transcript twice",
        "select r.input_id as id from agent_messages m join agent_runs r on r.id = m.run_id \
         where m.role = 'user' group by r.input_id having count(*) > 1",
    ),
    (
        "I4: a heartbeat of a run without a worker, or a run with a worker and without a heartbeat",
        "select r.id from agent_runs r left join run_heartbeats h on h.run_id = r.id \
         where (h.run_id is not null) <> (r.status in ('delivered', 'running'))",
    ),
    (
        "I4: live text of a run that is not running",
        "select l.run_id as id from run_live l join agent_runs r on r.id = l.run_id \
         where r.status <> 'running'",
    ),
    (
        "I4: a pending approval of a run that is not running",
        "select a.id from approvals a join agent_runs r on r.id = a.run_id \
         where a.state = 'pending' and r.status <> 'running'",
    ),
    (
        "I4: a pending elicitation of a run that is not running",
        "select q.id from questions q join agent_runs r on r.id = q.run_id \
         where q.state = 'pending' and q.kind = 'elicitation' and r.status <> 'running'",
    ),
    (
        "I4: an answer to a question without its input, or an input twice",
        "select q.id from questions q where q.answer_input_id is not null and 1 <> (\
           select count(*) from agent_runs r where r.input_id = q.answer_input_id and r.attempt = 1)",
    ),
    (
        "I5: a message without an event of the same number",
        "select m.id from agent_messages m left join session_events e \
         on e.session_id = m.session_id and e.seq = m.seq and e.ref_id = m.id \
         where e.seq is null",
    ),
    (
        "I5: a gap in the numbers of a log's events",
        "select s.id from agent_sessions s left join session_events e on e.session_id = s.id \
         group by s.id, s.last_seq having count(e.seq) <> s.last_seq or max(e.seq) <> s.last_seq \
         or min(e.seq) <> 1",
    ),
];
