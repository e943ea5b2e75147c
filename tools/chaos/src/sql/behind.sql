-- The next instants of triggers that are to fire.
select (extract(epoch from next_scheduled_for) * 1000000)::bigint as next
from automation.automation_triggers
where next_scheduled_for is not null
