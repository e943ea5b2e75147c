-- Lists the automations that use an agent, by name.
-- $1 tenant, $2 agent, $3 limit
select id, name, paused_at from automations
where tenant_id = $1 and harness_id = $2 and deleted_at is null
order by name, id
limit $3
