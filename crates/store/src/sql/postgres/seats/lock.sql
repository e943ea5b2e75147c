-- Locks the rows of seats, by id: every insert, end, pause and resume does so first.
-- Each row: $1 seat
with item (id) as (values /* row */ ($1))
select id
from agent_definitions
where id in (select id from item)
order by id
for update
