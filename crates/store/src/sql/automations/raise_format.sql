-- Raises the formats of an automation for a new trigger.
-- $1 id, $2 format, $3 format that the trigger needs
update automations
set format = case when format < $2 then $2 else format end, needs_format = $3
where id = $1 and needs_format < $3
