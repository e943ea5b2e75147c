-- Pins a seat to the instance on which its first turn begins.
-- $1 seat, $2 instance, $3 now
update agent_definitions set instance_id = $2, updated_at = $3
where id = $1 and instance_id is null
