-- Lists the inputs of a tenant that have failed in a period, by their last attempt, the newest first.
-- :tenant, :first_id the lowest id, :before the id before which to begin, :from the beginning of the period, :status,
-- :limit
select id, automation_id, session_id, status, reason, message, occurrences, scheduled_for, input_at, started_at, ended_at
from agent_runs
where tenant_id = :tenant and status = :status and id < :before and id >= :first_id
  and status in ('failed', 'cancelled', 'stalled', 'skipped', 'missed')
  and ended_at >= :from
  and not exists (
      select 1 from agent_runs later
      where later.input_id = agent_runs.input_id and later.attempt > agent_runs.attempt
  )
order by id desc
limit :limit
