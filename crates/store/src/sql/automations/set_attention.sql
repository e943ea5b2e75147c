-- Sets the notice for people on an automation. Null clears it.
-- $1 id, $2 text or null, $3 now
update automations set attention = $2, updated_at = $3 where id = $1
