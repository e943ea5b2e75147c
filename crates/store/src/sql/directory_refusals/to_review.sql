-- Lists the refusals of an instance, and those of runs that no longer wait, with the directories of the runs.
-- `on_all_servers` is true if the directory of a goal is on all servers.
-- $1 instance, $2 limit
select f.run_id, f.instance_id, s.id as session_id, s.cwd, r.status,
    exists (select 1 from goals g where g.session_id = s.id and g.on_all_servers) as on_all_servers
from directory_refusals f
join agent_runs r on r.id = f.run_id
join agent_sessions s on s.id = r.session_id
where f.instance_id = $1 or r.status not in ('queued', 'delivered')
order by f.run_id, f.instance_id
limit $2
