-- Sets a tenant's budget, or takes it away.
-- $1 id, $2 budget or null
update tenants set budget = $2 where id = $1
