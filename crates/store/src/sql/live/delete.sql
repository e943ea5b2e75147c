-- Deletes the live texts of finished turns, because the transcript has them.
-- Each row: $1 run
with item (id) as (values /* row */ ($1))
delete from run_live where run_id in (select id from item)
