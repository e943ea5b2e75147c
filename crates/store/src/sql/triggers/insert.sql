-- Makes a trigger.
-- $1 id, $2 tenant, $3 automation, $4 kind, $5 specification, $6 next instant, $7 fires at, $8 now,
-- $9 format, $10 format that it needs
insert into automation_triggers
    (id, tenant_id, automation_id, kind, spec, next_scheduled_for, next_fire_at, created_at, updated_at,
     format, needs_format)
values ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10)
