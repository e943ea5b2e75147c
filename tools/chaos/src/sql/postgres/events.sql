-- The event logs of all sessions, with the instant of each commit by the database's clock. References have the form
-- of the trace, except those of approvals, which have no prefix.
select 'ses_' || replace(session_id::text, '-', '') as log, seq, kind,
    case kind when 'run' then 'run_' when 'message' then 'msg_' when 'session' then 'ses_' else '' end
        || replace(ref_id::text, '-', '') as reference,
    body, (extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000000)::bigint as committed_at
from automation.session_events
order by session_id, seq
