-- Makes void what waits of attempts that are over or are being called off: no answer would reach them.
-- Each row: $1 run. $2 now
with item (id) as (values /* row */ ($1))
update approvals set state = 'void', decided_at = $2
where run_id in (select id from item) and state = 'pending'
returning id, session_id, run_id, tool_kind, title
