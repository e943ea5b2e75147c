-- Says which runs are still a worker's to execute, and which of them are to be called off.
-- Each row: $1 id. $2 worker
with item (id) as (values /* row */ ($1))
select id, cancel_reason from agent_runs
where worker_id = $2 and status in ('delivered', 'running') and id in (select id from item)
