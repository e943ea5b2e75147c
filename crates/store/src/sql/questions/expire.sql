-- Expires a pending question, so that its default counts. The caller checks the deadline. Returns no row if the question
-- is over.
-- $1 id, $2 now, $3 the default or null, $4 the input with the default or null
update questions set state = 'expired', closed_at = $2, answer = $3, answer_input_id = $4
where id = $1 and state = 'pending'
returning id
