-- Reads the automations and the seats that a transition must lock for runs.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select automation_id, seat_id
from agent_runs
where seat_id is not null and id in (select id from item)
