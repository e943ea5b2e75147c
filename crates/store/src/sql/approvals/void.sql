-- Voids the pending approvals of attempts that are over or are being cancelled, because no decision would reach the
-- agent.
-- Each row: $1 run. $2 now
with item (id) as (values /* row */ ($1))
update approvals set state = 'void', decided_at = $2
where run_id in (select id from item) and state = 'pending'
returning id, session_id, run_id, tool_kind, title
