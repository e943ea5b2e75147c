-- The event logs of all sessions, each event as JSON. SQLite records no commits, so that the instant is the one that the
-- server has written. References have the form of the trace, except those of approvals, which have no prefix.
select json_object(
    'log', 'ses_' || lower(hex(session_id)), 'seq', seq, 'kind', kind,
    'reference', case kind when 'run' then 'run_' when 'message' then 'msg_' when 'session' then 'ses_' else '' end
        || lower(hex(ref_id)),
    'body', json(body), 'committed_at', created_at)
from session_events
order by session_id, seq
