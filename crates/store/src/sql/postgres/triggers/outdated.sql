-- Locks triggers whose next instant an older edition of the zone rules computed, or an unknown one, the soonest first.
-- Omits due ones, because the poll for due triggers decides on them.
-- $1 now, $2 edition of the zone rules, $3 limit, $4 highest format that this server supports
select id, tenant_id, automation_id, kind, spec, needs_format, next_scheduled_for, next_fire_at,
    zone_rules, zone_rules_for, decided_until, decided_offset, last_scheduled_for, done_at, updated_at
from automation_triggers
where next_fire_at is not null and kind = 'cron' and spec ->> 'zone' <> 'UTC'
  and coalesce(case when zone_rules_for = next_scheduled_for then zone_rules end, '') < $2
  and next_fire_at > $1
  and automation_id not in (
      -- Triggers of a later format stay as they are, for a server that supports them.
      select id from automations where needs_format > 1 and needs_format > $4
      union all
      select automation_id from automation_triggers
      where needs_format > 1 and needs_format > $4 and deleted_at is null
  )
order by coalesce(case when zone_rules_for = next_scheduled_for then zone_rules end, ''), next_fire_at
limit $3
for no key update skip locked
