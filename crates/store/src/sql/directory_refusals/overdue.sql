-- Lists queued runs that every online server which could take them has refused for long enough, and that at least one
-- such server could take. A run whose agent has its memory on an instance can be taken only there, and a runtime takes no
-- other runs. `on_all_servers` is true if the directory of a goal is on all servers.
-- $1 the only run to check, or null, $2 oldest heartbeat of a server that is online, $3 latest refusal, $4 limit
select r.id, s.cwd, exists (select 1 from goals g where g.session_id = s.id and g.on_all_servers) as on_all_servers
from agent_runs r
join agent_sessions s on s.id = r.session_id
where r.status = 'queued' and ($1 is null or r.id = $1)
  and r.id in (select run_id from directory_refusals where refused_at <= $3)
  and exists (
      select 1 from servers v
      where v.stopped_at is null and v.seen_at >= $2
        and (v.instance_id = r.instance_id
            or r.instance_id is null and v.instance_id not in (select id from instances where kind <> 'host'))
  )
  and not exists (
      select 1 from servers v
      where v.stopped_at is null and v.seen_at >= $2
        and (v.instance_id = r.instance_id
            or r.instance_id is null and v.instance_id not in (select id from instances where kind <> 'host'))
        and not exists (
            select 1 from directory_refusals f
            where f.run_id = r.id and f.instance_id = v.instance_id and f.refused_at <= $3
        )
  )
order by r.id
limit $4
