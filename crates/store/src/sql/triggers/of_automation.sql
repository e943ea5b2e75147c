-- Lists an automation's triggers, including removed ones, the manual one first, then the oldest.
-- $1 automation
select id, tenant_id, automation_id, kind, spec, needs_format, next_scheduled_for, next_fire_at, last_scheduled_for, done_at
from automation_triggers
where automation_id = $1
order by kind <> 'manual', id
