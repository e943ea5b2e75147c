-- Lists the sessions that are not closed and have a seat of an agent, the newest first.
-- $1 tenant, $2 agent, $3 limit
select s.id, s.title from agent_sessions s
where s.tenant_id = $1 and s.state in ('draft', 'active', 'paused') and exists (
    select 1 from agent_definitions d where d.session_id = s.id and d.harness_id = $2
)
order by s.id desc
limit $3
