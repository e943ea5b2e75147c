-- Locks the rows of sessions, by id: whoever writes into their logs waits.
-- Each row: $1 session
with item (id) as (values /* row */ ($1))
select id
from agent_sessions
where id in (select id from item)
order by id
for no key update
