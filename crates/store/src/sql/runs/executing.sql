-- Says whether a run is still a worker's to execute, and whether it is to be called off.
-- $1 id, $2 worker
select status, cancel_reason from agent_runs
where id = $1 and worker_id = $2 and status in ('delivered', 'running')
