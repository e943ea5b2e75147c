-- Denies an approval that nobody has decided. No row: it was over.
-- $1 id, $2 now
update approvals set state = 'expired', decided_at = $2
where id = $1 and state = 'pending'
returning id, session_id, run_id, tool_kind, title
