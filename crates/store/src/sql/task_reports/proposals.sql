-- Lists the results with proposals of further work that agents have reported in turns that succeeded, the oldest first. The number
-- of a result counts all results of its task, from 1.
-- $1 session
select key, body, result_number
from (
    select t.key, p.body, p.updated_at, p.input_id,
        row_number() over (partition by p.task_id order by p.updated_at, p.input_id) as result_number
    from agent_tasks t
    join task_reports p on p.task_id = t.id
    where t.session_id = $1 and p.kind = 'result'
      and exists (select 1 from agent_runs r where r.input_id = p.input_id and r.status = 'succeeded')
) results
where body ->> 'follow_up' is not null
order by updated_at, input_id
