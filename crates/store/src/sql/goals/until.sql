-- Returns the instant at which the time of a goal is over.
-- $1 session
select until_at from goals where session_id = $1
