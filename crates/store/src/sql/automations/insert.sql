-- Makes an automation.
-- $1 id, $2 tenant, $3 name, $4 prompt, $5 harness, $6 cwd, $7 session mode, $8 bound key,
-- $9 policies, $10 settings, $11 permissions, $12 now, $13 format, $14 format that they need
insert into automations
    (id, tenant_id, name, kind, prompt, harness_id, cwd, session_mode, bound_session_key,
     policies, settings, permissions, consecutive_failures, created_at, updated_at, format, needs_format)
values ($1, $2, $3, 'user', $4, $5, $6, $7, $8, $9, $10, $11, 0, $12, $12, $13, $14)
