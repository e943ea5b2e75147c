-- Voids a pending question. Returns no row if the question is over.
-- $1 id, $2 now
update questions set state = 'void', closed_at = $2
where id = $1 and state = 'pending'
returning id, session_id, run_id, text
