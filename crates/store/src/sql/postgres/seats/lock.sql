-- Locks seats in the order of their IDs. Every insert, end, pause and resume of a run takes these locks first.
-- Each row: $1 seat
with item (id) as (values /* row */ ($1))
select id
from agent_definitions
where id in (select id from item)
order by id
for update
