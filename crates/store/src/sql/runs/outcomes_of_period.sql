-- Lists the outcomes of a tenant's inputs in a period, so far: the last attempt at each input that was created before
-- the end of the period and did not end before its beginning, the newest first. No attempt follows one that has
-- succeeded. The exception also keeps PostgreSQL from a join with all attempts, which would read all inputs of the period
-- before the limit.
-- :tenant, :first_id the lowest id, :before the id before which to begin, :from the beginning of the period, :to its
-- end, :automation or null, :limit
select id, automation_id, session_id, status, reason, message, occurrences, scheduled_for, input_at, started_at, ended_at
from agent_runs
where tenant_id = :tenant and id < :before and id >= :first_id
  and created_at < :to
  and (ended_at is null or ended_at >= :from)
  and (:automation is null or automation_id = :automation)
  and (status = 'succeeded' or not exists (
      select 1 from agent_runs later
      where later.input_id = agent_runs.input_id and later.attempt > agent_runs.attempt
  ))
order by id desc
limit :limit
