-- Inserts an automation.
-- :id, :tenant, :name, :prompt, :agent, :cwd, :placed_on, :session_mode, :bound_key, :policies, :settings, :permissions,
-- :now, :format, :needs_format format that they need
insert into automations
    (id, tenant_id, name, kind, prompt, harness_id, cwd, placed_on, session_mode, bound_session_key,
     policies, settings, permissions, consecutive_failures, created_at, updated_at, format, needs_format)
values (:id, :tenant, :name, 'user', :prompt, :agent, :cwd, :placed_on, :session_mode, :bound_key, :policies, :settings, :permissions, 0, :now, :now, :format, :needs_format)
