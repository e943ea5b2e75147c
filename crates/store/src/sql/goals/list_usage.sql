-- Lists the usage of the runs of goals that have begun.
-- Each row: $1 session
with item (id) as (values /* row */ ($1))
select session_id, seat_id, status, usage
from agent_runs
where session_id in (select id from item) and started_at is not null
