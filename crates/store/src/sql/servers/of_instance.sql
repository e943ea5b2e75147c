-- Returns the server that serves a data folder, or the last one that did.
-- $1 instance
select worker_id, version, format,
    case when zone_rules_worker = worker_id then zone_rules end as zone_rules, seen_at, stopped_at
from servers where instance_id = $1
