-- Sets or removes a tenant's budget, optionally with optimistic locking by the budget that was read.
-- $1 id, $2 budget or null, $3 true to compare, $4 the budget that was read or null, $5 format,
-- $6 format that it needs
update tenants set budget = $2, format = $5, needs_format = $6
where id = $1 and (not $3 or budget = $4 or (budget is null and $4 is null))
