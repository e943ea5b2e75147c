-- The event logs of all automations: the events that belong to no session, each as JSON. SQLite records no commits, so
-- that the instant is the one that the server has written.
select json_object(
    'log', 'aut_' || lower(hex(automation_id)), 'seq', seq, 'kind', kind,
    'reference', case kind when 'run' then 'run_' else 'aut_' end || lower(hex(ref_id)),
    'body', json(body), 'committed_at', created_at)
from automation_events
order by automation_id, seq
