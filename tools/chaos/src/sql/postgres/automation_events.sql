-- The event logs of all automations: the events that belong to no session.
select 'aut_' || replace(automation_id::text, '-', '') as log, seq, kind,
    case kind when 'run' then 'run_' else 'aut_' end || replace(ref_id::text, '-', '') as reference, body,
    (extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000000)::bigint as committed_at
from automation.automation_events
order by automation_id, seq
