-- Counts the tool calls of the turns of the last round of work on a task, by the beginnings of their titles. A round ends with
-- the verdict before later work.
-- $1 task, $2 number of characters of a beginning
select substr(m.content, 1, cast($2 as integer)) as beginning, count(*) as calls
from agent_runs r
join agent_messages m on m.run_id = r.id
where r.task_id = $1 and not r.task_review and m.kind = 'tool_call'
    and not exists (
        select 1 from agent_runs v
        join agent_runs w on w.task_id = v.task_id
        where v.task_id = r.task_id and v.task_review and v.status = 'succeeded' and v.input_at > r.input_at
            and not w.task_review and w.input_at > v.input_at
    )
group by beginning
