-- Edits the properties of an automation that a person sets.
-- :id, :name, :prompt, :agent, :cwd, :placed_on, :session_mode, :bound_key, :current_session, :policies, :settings,
-- :permissions, :now, :format, :needs_format format that they need
update automations
set name = :name, prompt = :prompt, harness_id = :agent, cwd = :cwd, placed_on = :placed_on, session_mode = :session_mode, bound_session_key = :bound_key,
    current_session_id = :current_session, policies = :policies, settings = :settings, permissions = :permissions, updated_at = :now,
    format = :format, needs_format = :needs_format
where id = :id
