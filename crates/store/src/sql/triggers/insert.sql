-- Inserts a trigger.
-- :id, :tenant, :automation, :kind, :spec specification, :next_instant, :fires_at, :now, :format, :needs_format
-- format that it needs
insert into automation_triggers
    (id, tenant_id, automation_id, kind, spec, next_scheduled_for, next_fire_at, created_at, updated_at,
     format, needs_format)
values (:id, :tenant, :automation, :kind, :spec, :next_instant, :fires_at, :now, :now, :format, :needs_format)
