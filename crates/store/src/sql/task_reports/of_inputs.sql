-- Reads the reports of turns.
-- Each row: $1 input
with item (id) as (values /* row */ ($1))
select input_id, status, body, needs_format from task_reports where input_id in (select id from item)
