-- Lists runs, the newest first.
-- $1 tenant or null, $2 session or null, $3 automation or null, $4 status or null, $5 limit
select id, tenant_id, input_id, attempt, failures, status, origin, session_id, seat_id, automation_id, trigger_id, scheduled_for, missed_until, occurrences, exclusive, content, not_before, worker_id, started_at, ended_at, cancel_requested_at, cancel_reason, reason, message, stop_reason, flags, usage, interrupted_run_id, prompt_ref, input_at, created_at
from agent_runs
where ($1 is null or tenant_id = $1)
  and ($2 is null or session_id = $2)
  and ($3 is null or automation_id = $3)
  and ($4 is null or status = $4)
order by created_at desc, input_at desc, id desc
limit $5
