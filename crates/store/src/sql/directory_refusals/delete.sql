-- Removes refusals, because the directory is there or the run no longer waits.
-- Each row: $1 run, $2 instance
with item (run_id, instance_id) as (values /* row */ ($1, $2))
delete from directory_refusals
where (run_id, instance_id) in (select run_id, instance_id from item)
