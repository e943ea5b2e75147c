-- Counts the tool calls of the turns of the last round of work on a task, without the calls that report its result. Agents
-- show those under titles that begin or end with the name of the tool. A round ends with the verdict before later work.
-- $1 task
select count(*) as calls
from agent_runs r
join agent_messages m on m.run_id = r.id
where r.task_id = $1 and not r.task_review and m.kind = 'tool_call'
    and lower(m.content) not like '%update\_task' escape '\'
    and lower(m.content) not like 'update\_task%' escape '\'
    and not exists (
        select 1 from agent_runs v
        join agent_runs w on w.task_id = v.task_id
        where v.task_id = r.task_id and v.task_review and v.status = 'succeeded' and v.input_at > r.input_at
            and not w.task_review and w.input_at > v.input_at
    )
