-- Sets a tenant's budget, or takes it away, if it still is what was read.
-- $1 id, $2 budget or null, $3 what was read or null, $4 format, $5 format that it needs
update tenants set budget = $2, format = $4, needs_format = $5
where id = $1 and (budget = $3 or (budget is null and $3 is null))
