-- Returns the events of a session's log after a sequence number.
-- $1 tenant or null, $2 session, $3 after, $4 limit
select seq, kind, ref_id, body, created_at
from session_events
where session_id = $2 and seq > $3 and ($1 is null or tenant_id = $1)
order by seq
limit $4
