-- Returns the task of a goal whose turn a run is, with the time that the team of the goal gives to questions.
-- $1 run
select t.key, t.kind, r.task_review, cast(g.team -> 'limits' ->> 'question_hours' as bigint) as question_hours
from agent_runs r
join agent_tasks t on t.tenant_id = r.tenant_id and t.session_id = r.session_id and t.id = r.task_id
join goals g on g.session_id = r.session_id
where r.id = $1
