-- Returns the version of the plan of a goal.
-- $1 session
select plan_version from goals where session_id = $1
