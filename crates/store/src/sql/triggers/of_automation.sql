-- Lists all triggers that an automation has or had, the manual one first, then the oldest.
-- $1 automation
select id, tenant_id, automation_id, kind, spec, needs_format, next_scheduled_for, next_fire_at,
    zone_rules, zone_rules_for, decided_until, decided_offset, last_scheduled_for, done_at
from automation_triggers
where automation_id = $1
order by kind <> 'manual', id
