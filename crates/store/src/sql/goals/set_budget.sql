-- Changes the budget of a goal, and the instant from which no further turn starts.
-- $1 session, $2 budget or null, $3 instant or null, $4 now
update goals set budget = $2, until_at = $3, until_passed = false, updated_at = $4 where session_id = $1
