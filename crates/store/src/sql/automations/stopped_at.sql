-- Says when an automation stopped firing: when it was paused, else when it was removed; null if neither.
-- $1 id
select coalesce(paused_at, deleted_at) as stopped_at from automations where id = $1
