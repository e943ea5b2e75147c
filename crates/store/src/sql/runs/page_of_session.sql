-- Lists the runs of a session, the newest first.
-- $1 tenant or null, $2 the id before which to begin, $3 origin or null, $4 whether only first
-- attempts at occurrences, $5 status or null, $6 limit, $7 session, $8 automation or null
select id, tenant_id, input_id, attempt, failures, status, origin, session_id, seat_id, automation_id, trigger_id, scheduled_for, missed_until, occurrences, exclusive, content, not_before, worker_id, started_at, ended_at, cancel_requested_at, cancel_reason, reason, message, stop_reason, flags, usage, interrupted_run_id, prompt_ref, input_at, created_at
from agent_runs
where session_id = $7 and id < $2 and ($1 is null or tenant_id = $1)
  and ($3 is null or origin = $3)
  and (not $4 or (trigger_id is not null and attempt = 1))
  and ($5 is null or status = $5)
  and ($8 is null or automation_id = $8)
order by id desc
limit $6
