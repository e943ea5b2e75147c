-- Sets the instant at which the next instant of a trigger fires. Keeps the instant of the last update, because a cursor
-- of unknown rules continues after it.
-- $1 id, $2 next instant, $3 fires at
update automation_triggers set next_fire_at = $3
where id = $1 and next_scheduled_for = $2 and done_at is null
