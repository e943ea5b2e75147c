-- Inserts a trigger.
-- :id, :tenant, :automation, :kind, :spec specification, :next_instant, :fires_at, :zone_rules edition of the zone
-- rules or null, :decided decided until or null, :offset offset of the zone then or null, :now, :format,
-- :needs_format format that it needs
insert into automation_triggers
    (id, tenant_id, automation_id, kind, spec, next_scheduled_for, next_fire_at, zone_rules, zone_rules_for,
     decided_until, decided_offset, created_at, updated_at, format, needs_format)
values (:id, :tenant, :automation, :kind, :spec, :next_instant, :fires_at, :zone_rules, :next_instant,
    :decided, :offset, :now, :now, :format, :needs_format)
