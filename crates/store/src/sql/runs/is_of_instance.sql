-- Returns a row if a tenant has a run, and the run is executed or placed on an instance.
-- $1 run, $2 tenant, $3 instance
select 1 as found from agent_runs where id = $1 and tenant_id = $2 and instance_id = $3
