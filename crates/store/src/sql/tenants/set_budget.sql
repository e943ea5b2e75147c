-- Sets a tenant's budget, or takes it away; where it is to be what was read, only if it still is.
-- $1 id, $2 budget or null, $3 whether it is to be what was read, $4 what was read or null, $5 format,
-- $6 format that it needs
update tenants set budget = $2, format = $5, needs_format = $6
where id = $1 and (not $3 or budget = $4 or (budget is null and $4 is null))
