-- Reads the tasks of a goal, in the order of their numbers, without their texts.
-- $1 session
select id, number, key, kind, role, status, unmet, priority, optional, review, step, reason, acceptance, checks, writes,
    plan_version, digest, progress
from agent_tasks
where session_id = $1
order by number
