-- Requeues a claimed run that has not begun on the instance of the files that the seats of its session share, unless that is
-- the instance of the server. Files on a removed instance are lost.
-- $1 id, $2 session, $3 instance of the server
update agent_runs
set status = 'queued', worker_id = null, claimed_at = null, reason = null, message = null, instance_id = files.instance_id
from (
    select x.instance_id from agent_definitions x
    join instances i on i.tenant_id = x.tenant_id and i.id = x.instance_id and i.state <> 'gone'
    where x.session_id = $2 and x.directory = 'shared' and x.presence <> 'removed'
    order by x.id limit 1
) as files
where agent_runs.id = $1 and agent_runs.status = 'delivered' and files.instance_id <> $3
