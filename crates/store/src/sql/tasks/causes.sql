-- Reads the end of the last turn that worked on each failed task of a goal, with the beginning of its answer.
-- $1 session, $2 the maximum number of characters of an answer
select t.id, r.status, coalesce(r.message, r.reason) as notice, (
    select substr(m.content, 1, cast($2 as integer))
    from agent_messages m
    where m.run_id = r.id and m.role = 'assistant' and m.kind = 'message'
    order by m.seq desc
    limit 1
) as answer
from agent_tasks t
join agent_runs r on r.id = (
    select l.id from agent_runs l
    where l.task_id = t.id and not l.task_review and l.ended_at is not null
    order by l.id desc
    limit 1
)
where t.session_id = $1 and t.status = 'FAILED'
