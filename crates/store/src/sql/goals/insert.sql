-- Inserts a goal.
-- :session, :tenant, :text, :team, :limits, :progress, :format, :needs_format, :budget or null, :until or null, :now
insert into goals
    (session_id, tenant_id, text, state, team, limits, progress, format, needs_format, budget, until_at, created_at,
     updated_at)
values (:session, :tenant, :text, 'draft', :team, :limits, :progress, :format, :needs_format, :budget, :until, :now, :now)
