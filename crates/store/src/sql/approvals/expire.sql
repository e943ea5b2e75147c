-- Expires a pending approval. The caller checks the deadline. Returns no row if the approval is over.
-- $1 id, $2 now
update approvals set state = 'expired', decided_at = $2
where id = $1 and state = 'pending'
returning id, session_id, run_id, tool_kind, title
