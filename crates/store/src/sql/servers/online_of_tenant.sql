-- Says whether an instance of a tenant has a server, or a runtime, that is online.
-- $1 oldest heartbeat of a server that is online, $2 tenant
select exists (
    select 1
    from instances i
    join servers v on v.instance_id = i.id
    where i.tenant_id = $2 and i.state <> 'gone' and v.stopped_at is null and v.seen_at >= $1
) as is_online
