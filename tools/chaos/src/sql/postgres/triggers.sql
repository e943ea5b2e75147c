-- All triggers.
select id, 'aut_' || replace(automation_id::text, '-', '') as automation, spec,
    (extract(epoch from created_at) * 1000000)::bigint as created_at
from automation.automation_triggers
order by id
