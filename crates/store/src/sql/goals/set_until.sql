-- Changes the instant from which no further turn of a goal starts.
-- $1 session, $2 instant, $3 now
update goals set until_at = $2, until_passed = false, updated_at = $3 where session_id = $1
