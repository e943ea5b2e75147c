-- Changes the budget of a goal.
-- $1 session, $2 budget or null, $3 format, $4 now
update goals set budget = $2, format = $3, updated_at = $4 where session_id = $1
