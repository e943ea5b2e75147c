-- Returns the sequence number after which a transcript has the rows of a task: the number before the first row of the task's
-- runs, or the newest number of its session if no run of the task has a row yet.
-- $1 tenant or null, $2 task
select coalesce(
    (
        select min(m.seq) - 1
        from agent_runs r
        join agent_messages m on m.run_id = r.id
        where r.task_id = t.id
    ),
    s.last_seq
) as seq
from agent_tasks t
join agent_sessions s on s.id = t.session_id
where t.id = $2 and ($1 is null or t.tenant_id = $1)
