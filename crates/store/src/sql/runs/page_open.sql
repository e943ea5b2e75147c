-- Lists the runs in one of the open statuses, the newest first. The lists of statuses equal those of the partial
-- indexes, so that the query does not read runs that are over.
-- $1 tenant or null, $2 the id before which to begin, $3 origin or null, $4 whether only first
-- attempts at occurrences, $5 status, $6 limit
select id, tenant_id, input_id, attempt, failures, status, origin, session_id, seat_id, automation_id, trigger_id, scheduled_for, missed_until, occurrences, exclusive, content, not_before, worker_id, started_at, ended_at, cancel_requested_at, cancel_reason, reason, message, stop_reason, flags, usage, interrupted_run_id, prompt_ref, input_at, created_at
from agent_runs
where id in (
    select id from agent_runs where status in ('queued', 'delivered', 'running')
    union all
    select id from agent_runs where status = 'deferred'
)
  and id < $2 and status = $5 and ($1 is null or tenant_id = $1)
  and ($3 is null or origin = $3)
  and (not $4 or (trigger_id is not null and attempt = 1))
order by id desc
limit $6
