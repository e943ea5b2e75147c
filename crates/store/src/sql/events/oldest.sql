-- Returns the sequence number of the oldest event in a log, or the next number if the log is empty.
-- $1 tenant or null, $2 session
select coalesce((select min(e.seq) from session_events e where e.session_id = s.id), s.last_seq + 1) as seq
from agent_sessions s
where s.id = $2 and ($1 is null or s.tenant_id = $1)
