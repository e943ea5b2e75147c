-- Reads the usage of all runs of a session.
-- $1 session
select usage from agent_runs where session_id = $1 and usage is not null
