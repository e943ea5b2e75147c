-- Returns the runs of notifications.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select /* columns */ *, content
from agent_runs
where id in (select id from item)
