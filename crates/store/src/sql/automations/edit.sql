-- Changes what a person says of an automation.
-- $1 id, $2 name, $3 prompt, $4 harness, $5 cwd, $6 session mode, $7 bound key, $8 current session,
-- $9 policies, $10 settings, $11 permissions, $12 now, $13 format, $14 format that they need
update automations
set name = $2, prompt = $3, harness_id = $4, cwd = $5, session_mode = $6, bound_session_key = $7,
    current_session_id = $8, policies = $9, settings = $10, permissions = $11, updated_at = $12,
    format = $13, needs_format = $14
where id = $1
