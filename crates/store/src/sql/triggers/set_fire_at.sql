-- Sets the instant at which the next instant of a trigger fires.
-- $1 id, $2 next instant, $3 fires at, $4 now
update automation_triggers set next_fire_at = $3, updated_at = $4
where id = $1 and next_scheduled_for = $2 and done_at is null
