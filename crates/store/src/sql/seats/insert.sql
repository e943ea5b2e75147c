-- Makes a seat.
-- $1 id, $2 tenant, $3 session, $4 role, $5 name, $6 harness, $7 is entry, $8 settings, $9 now, $10 format,
-- $11 format that it needs
insert into agent_definitions
    (id, tenant_id, session_id, role, name, harness_id, is_entry, turns, settings, created_at, updated_at,
     format, needs_format)
values ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9, $9, $10, $11)
