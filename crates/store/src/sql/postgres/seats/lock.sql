-- Locks seats in the order of their IDs. Every insert, end, pause and resume of a run takes these locks first. The
-- lock leaves the key free (`no key`), so that an insert of a row that refers to the seat does not wait for it.
-- Each row: $1 seat
with item (id) as (values /* row */ ($1))
select id
from agent_definitions
where id in (select id from item)
order by id
for no key update
