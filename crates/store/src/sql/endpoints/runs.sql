-- Reads what notifications say of runs.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, input_id, attempt, status, origin, automation_id, trigger_id, scheduled_for, missed_until, occurrences, reason, message, stop_reason, started_at, ended_at
from agent_runs
where id in (select id from item)
