-- Inserts a goal.
-- :session, :tenant, :text, :team, :limits, :progress, :format, :needs_format, :budget or null, :until or null,
-- :on_all_servers true if its directory is on all servers, :now
insert into goals
    (session_id, tenant_id, text, state, team, limits, progress, format, needs_format, budget, until_at, on_all_servers,
     created_at, updated_at)
values (:session, :tenant, :text, 'draft', :team, :limits, :progress, :format, :needs_format, :budget, :until, :on_all_servers, :now, :now)
