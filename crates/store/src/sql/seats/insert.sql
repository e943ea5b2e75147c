-- Inserts seats.
-- :id, :tenant, :session, :role, :name, :agent, :instructions, :is_entry, :directory, :placed_on, :settings, :now, :format,
-- :needs_format format that it needs
insert into agent_definitions
    (id, tenant_id, session_id, role, name, harness_id, instructions, is_entry, directory, placed_on, turns, settings, created_at, updated_at,
     format, needs_format)
values /* row */ (:id, :tenant, :session, :role, :name, :agent, :instructions, :is_entry, :directory, :placed_on, 0, :settings, :now, :now, :format, :needs_format)
