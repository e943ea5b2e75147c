-- The logs of all sessions. References are written as the trace writes them.
select 'ses_' || replace(session_id::text, '-', '') as log, seq, kind,
    case kind when 'run' then 'run_' when 'message' then 'msg_' when 'session' then 'ses_' else '' end
        || replace(ref_id::text, '-', '') as reference,
    body
from automation.session_events
order by session_id, seq
