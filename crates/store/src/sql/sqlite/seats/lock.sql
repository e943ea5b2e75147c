-- Finds seats, by id. The transaction holds the only write lock already.
-- Each row: $1 seat
with item (id) as (values ($1))
select id, session_id
from agent_definitions
where id in (select id from item)
order by id
