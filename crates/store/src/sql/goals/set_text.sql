-- Changes the text of a goal.
-- $1 session, $2 text, $3 now
update goals set text = $2, updated_at = $3 where session_id = $1
