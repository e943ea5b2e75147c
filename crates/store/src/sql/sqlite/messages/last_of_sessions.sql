-- Reads the beginning of the last message of each session, of a person or of an agent. The row ID saves the search
-- for a row that was just read.
-- Each row: $1 session. $2 the maximum number of characters
with item (session_id) as (values /* row */ ($1))
select m.session_id, m.role, substr(m.content, 1, cast($2 as integer)) as content, m.created_at
from item
cross join agent_messages m
where m.rowid = (
    select x.rowid
    from agent_messages x
    where x.session_id = item.session_id and x.kind = 'message'
    order by x.seq desc
    limit 1
)
