-- Sets the next instant of a trigger. Nulls stop the trigger.
-- :id, :next_instant next instant or null, :fires_at or null, :zone_rules edition of the zone rules or null,
-- :decided decided until or null, :offset offset of the zone then or null, :now
update automation_triggers
set next_scheduled_for = :next_instant, next_fire_at = :fires_at, zone_rules = :zone_rules,
    zone_rules_for = :next_instant, decided_until = :decided, decided_offset = :offset, updated_at = :now
where id = :id and done_at is null
