-- Reads the columns of runs that transitions need, without the results of ended runs.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select /* columns */ *, content
from agent_runs
where id in (select id from item)
