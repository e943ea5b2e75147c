-- Returns the rows of a transcript before a sequence number, the newest first.
-- $1 tenant or null, $2 session, $3 before, $4 limit
select id, seq, run_id, from_seat_id, role, kind, content, metadata, created_at
from agent_messages
where session_id = $2 and seq < $3 and ($1 is null or tenant_id = $1)
order by seq desc
limit $4
