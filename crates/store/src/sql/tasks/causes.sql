-- Reads the end of the last turn that worked on each task, with the beginning of its answer.
-- Each row: $1 task. $2 the maximum number of characters of an answer
with item (id) as (values /* row */ ($1))
select item.id, r.status, coalesce(r.message, r.reason) as notice, (
    select substr(m.content, 1, cast($2 as integer))
    from agent_messages m
    where m.run_id = r.id and m.role = 'assistant' and m.kind = 'message'
    order by m.seq desc
    limit 1
) as answer
from item
join agent_runs r on r.id = (
    select l.id from agent_runs l
    where l.task_id = item.id and not l.task_review and l.ended_at is not null
    order by l.id desc
    limit 1
)
