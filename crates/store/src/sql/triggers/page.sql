-- Lists the triggers that an automation has, the newest first.
-- $1 automation, $2 the id before which to begin, $3 limit
select id, tenant_id, automation_id, kind, spec, needs_format, next_scheduled_for, next_fire_at, last_scheduled_for, done_at
from automation_triggers
where automation_id = $1 and id < $2 and deleted_at is null
order by id desc
limit $3
