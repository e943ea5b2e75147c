-- Lists the refusals of an instance, and those of runs that no longer wait, with the directories of the runs.
-- $1 instance, $2 limit
select f.run_id, f.instance_id, s.id as session_id, s.cwd, r.status
from directory_refusals f
join agent_runs r on r.id = f.run_id
join agent_sessions s on s.id = r.session_id
where f.instance_id = $1 or r.status not in ('queued', 'delivered')
order by f.run_id, f.instance_id
limit $2
