-- Changes the mode and the settings of a seat. They are applied when its next turn begins.
-- $1 seat, $2 settings, $3 now, $4 format, $5 format that they need
update agent_definitions set settings = $2, updated_at = $3, format = $4, needs_format = $5
where id = $1
