-- Lists which runs a worker still owns, with the reason for which a run is to be cancelled.
-- Each row: $1 id. $2 worker
with item (id) as (values /* row */ ($1))
select id, cancel_reason from agent_runs
where worker_id = $2 and status in ('delivered', 'running') and id in (select id from item)
