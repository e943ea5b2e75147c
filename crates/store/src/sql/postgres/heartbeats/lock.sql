-- Locks heartbeats in the order of their runs' IDs.
-- Each row: $1 run
with item (id) as (values /* row */ ($1))
select run_id
from run_heartbeats
where run_id in (select id from item)
order by run_id
for no key update
