-- Returns the budgets of tenants, where they have one.
-- Each row: $1 tenant
with item (id) as (values /* row */ ($1))
select id, budget, needs_format from tenants where budget is not null and id in (select id from item)
