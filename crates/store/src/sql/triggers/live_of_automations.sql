-- Lists the present triggers of automations, the manual one of each first, then the oldest.
-- Each row: $1 automation
with item (automation_id) as (values /* row */ ($1))
select id, tenant_id, t.automation_id, kind, spec, needs_format, next_scheduled_for, next_fire_at,
    zone_rules, zone_rules_for, decided_until, decided_offset, last_scheduled_for, done_at
from item
join automation_triggers t on t.automation_id = item.automation_id
where deleted_at is null
order by t.automation_id, kind <> 'manual', id
