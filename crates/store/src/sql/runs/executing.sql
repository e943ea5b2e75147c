-- Lists the runs that a worker still owns, with the reason of the request to cancel the run, if there is one.
-- Each row: $1 id. $2 worker
with item (id) as (values /* row */ ($1))
select id, cancel_reason from agent_runs
where worker_id = $2 and status in ('delivered', 'running') and id in (select id from item)
