-- Reads an instance that is not removed, with the server that serves it, or the last one that did.
-- $1 tenant, $2 instance
select i.name, i.kind, i.config, v.worker_id, v.version, v.format,
    case when v.zone_rules_worker = v.worker_id then v.zone_rules end as zone_rules, v.seen_at, v.stopped_at
from instances i
left join servers v on v.instance_id = i.id
where i.tenant_id = $1 and i.id = $2 and i.state <> 'gone'
