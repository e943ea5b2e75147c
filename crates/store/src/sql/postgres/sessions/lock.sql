-- Locks sessions in the order of their IDs. Transactions that write to their logs wait.
-- Each row: $1 session
with item (id) as (values /* row */ ($1))
select id
from agent_sessions
where id in (select id from item)
order by id
for no key update
