-- Reads the beginning of the last message of each session, of a person or of an agent. A join on the ID of the message
-- would read the messages of all sessions.
-- Each row: $1 session. $2 the maximum number of characters
with item (session_id) as (values /* row */ ($1))
select m.session_id, m.role, substr(m.content, 1, cast($2 as integer)) as content, m.created_at
from item
cross join lateral (
    select x.session_id, x.role, x.content, x.created_at
    from agent_messages x
    where x.session_id = item.session_id and x.kind = 'message'
    order by x.seq desc
    limit 1
) m
