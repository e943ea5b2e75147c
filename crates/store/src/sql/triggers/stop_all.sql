-- Clears the next instants of all triggers of an automation, so that none is due.
-- $1 automation, $2 now
update automation_triggers set next_scheduled_for = null, next_fire_at = null, updated_at = $2
where automation_id = $1 and next_fire_at is not null
