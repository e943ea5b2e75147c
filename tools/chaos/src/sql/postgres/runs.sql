-- All runs in the order of their creation.
select 'run_' || replace(id::text, '-', '') as id, input_id as input, attempt, failures, status, origin,
    'ses_' || replace(session_id::text, '-', '') as session, seat_id as seat,
    'aut_' || replace(automation_id::text, '-', '') as automation, trigger_id as trigger,
    (extract(epoch from scheduled_for) * 1000000)::bigint as scheduled_for,
    (extract(epoch from missed_until) * 1000000)::bigint as missed_until,
    occurrences, (extract(epoch from started_at) * 1000000)::bigint as started_at,
    instance_id as instance, worker_id as worker,
    replace(task_id::text, '-', '') as task, task_prompt, task_review as is_review, content, reason
from automation.agent_runs
order by id
