-- Returns the budgets of the tenants of runs, where they have one. It needs no lock on SQLite.
-- Each row: $1 run
with item (id) as (values /* row */ ($1))
select id, budget, needs_format from tenants
where budget is not null
  and id in (select tenant_id from agent_runs where agent_runs.id in (select id from item))
