-- Lists the runs of an automation, including skipped and missed occurrences, the newest first.
-- :tenant or null, :before the id before which to begin, :origin or null, :first_attempts whether only first
-- attempts at occurrences, :status or null, :limit, :automation
select id, tenant_id, input_id, attempt, failures, status, origin, session_id, seat_id, automation_id, trigger_id, scheduled_for, missed_until, occurrences, exclusive, content, not_before, worker_id, started_at, ended_at, cancel_requested_at, cancel_reason, reason, message, stop_reason, flags, usage, interrupted_run_id, prompt_ref, input_at, created_at
from agent_runs
where automation_id = :automation and id < :before and (:tenant is null or tenant_id = :tenant)
  and (:origin is null or origin = :origin)
  and (not :first_attempts or (trigger_id is not null and attempt = 1))
  and (:status is null or status = :status)
order by id desc
limit :limit
