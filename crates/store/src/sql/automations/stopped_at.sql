-- Returns the instant at which an automation was paused, or else deleted. Null if it is enabled.
-- $1 id
select coalesce(paused_at, deleted_at) as stopped_at from automations where id = $1
