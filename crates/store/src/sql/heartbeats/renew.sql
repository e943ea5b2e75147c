-- Renews the heartbeats of a worker's runs. A run that is not returned no longer belongs to the worker.
-- Each row: $1 run. $2 worker, $3 now
with item (id) as (values /* row */ ($1))
update run_heartbeats set beat_at = $3
where worker_id = $2 and run_id in (select id from item)
returning run_id
