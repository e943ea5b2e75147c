-- Returns triggers by ID.
-- Each row: $1 id
with item (id) as (values /* row */ ($1))
select id, tenant_id, automation_id, kind, spec, needs_format, next_scheduled_for, next_fire_at,
    zone_rules, zone_rules_for, decided_until, decided_offset, last_scheduled_for, done_at
from automation_triggers
where id in (select id from item)
