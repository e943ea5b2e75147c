-- Says of runs which automations and which seats are to be locked for them.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select automation_id, seat_id
from agent_runs
where seat_id is not null and id in (select id from item)
