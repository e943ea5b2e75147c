-- Returns the budgets of the tenants of runs and locks those tenants that have one, so that one of two concurrent
-- turns sees the usage of the other.
-- Each row: $1 run
with item (id) as (values /* row */ ($1))
select id, budget, needs_format from tenants
where budget is not null
  and id in (select tenant_id from agent_runs where agent_runs.id in (select id from item))
order by id
for no key update
