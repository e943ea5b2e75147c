-- Says when an automation was removed or paused; null if neither.
-- $1 id
select coalesce(deleted_at, paused_at) as stopped_at from automations where id = $1
