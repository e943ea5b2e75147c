-- Lists the newest version of each artifact of a session with the task whose turn saved it, the newest first.
-- $1 session, $2 limit
select a.name, a.version, r.task_id, t.key
from agent_artifacts a
join agent_runs r on r.id = a.run_id
left join agent_tasks t on t.id = r.task_id
where a.session_id = $1 and not exists (
    select 1 from agent_artifacts b where b.session_id = a.session_id and b.name = a.name and b.version > a.version
)
order by a.created_at desc, a.id desc
limit $2
