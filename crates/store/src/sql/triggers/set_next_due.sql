-- Sets the next instant of a trigger. Nulls stop the trigger.
-- $1 id, $2 next instant or null, $3 fires at or null, $4 now
update automation_triggers set next_scheduled_for = $2, next_fire_at = $3, updated_at = $4
where id = $1 and done_at is null
