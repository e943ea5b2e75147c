-- Marks an automation as deleted. Its runs and sessions stay.
-- $1 id, $2 now
update automations set deleted_at = $2, current_session_id = null, updated_at = $2 where id = $1
