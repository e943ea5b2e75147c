-- Sets the titles of sessions that have none.
-- Each row: $1 id, $2 title
with item (id, title) as (values /* row */ ($1, $2))
update agent_sessions set title = item.title
from item
where agent_sessions.id = item.id and agent_sessions.title is null
