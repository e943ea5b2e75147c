-- Reads the times of a goal.
-- $1 tenant or null, $2 session
select created_at, updated_at, ended_at from goals where session_id = $2 and ($1 is null or tenant_id = $1)
