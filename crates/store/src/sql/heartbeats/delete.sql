-- Deletes the heartbeats of runs.
-- Each row: $1 run
with item (id) as (values /* row */ ($1))
delete from run_heartbeats where run_id in (select id from item)
