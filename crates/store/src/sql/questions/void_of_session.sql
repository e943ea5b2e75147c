-- Voids the pending questions of a session, because it takes no more inputs.
-- $1 session, $2 now
update questions set state = 'void', closed_at = $2
where session_id = $1 and state = 'pending'
returning id, session_id, run_id, text
