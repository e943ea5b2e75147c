-- Counts the rows of a transcript before a number.
-- $1 tenant or null, $2 session, $3 number
select count(*) as count from agent_messages
where session_id = $2 and seq < $3 and ($1 is null or tenant_id = $1)
