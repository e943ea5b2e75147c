-- All runs in the order of their creation, each as JSON.
select json_object(
    'id', 'run_' || lower(hex(id)), 'input', lower(hex(input_id)), 'attempt', attempt, 'failures', failures,
    'status', status, 'origin', origin,
    'session', case when session_id is not null then 'ses_' || lower(hex(session_id)) end,
    'seat', case when seat_id is not null then lower(hex(seat_id)) end,
    'automation', case when automation_id is not null then 'aut_' || lower(hex(automation_id)) end,
    'trigger', case when trigger_id is not null then lower(hex(trigger_id)) end,
    'scheduled_for', scheduled_for, 'missed_until', missed_until, 'occurrences', occurrences,
    'started_at', started_at,
    'instance', case when instance_id is not null then lower(hex(instance_id)) end, 'worker', worker_id,
    'task', case when task_id is not null then lower(hex(task_id)) end, 'task_prompt', task_prompt,
    'is_review', json(case when task_review then 'true' else 'false' end), 'content', content, 'reason', reason)
from agent_runs
order by id
