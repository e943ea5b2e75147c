-- Lets a seat go that no turn has ended on: until then a retry may move it.
-- $1 seat, $2 now
update agent_definitions set instance_id = null, updated_at = $2
where id = $1 and acp_session_id is null
