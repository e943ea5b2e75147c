-- The next instants of all triggers that will fire.
select (extract(epoch from next_scheduled_for) * 1000000)::bigint as next
from automation.automation_triggers
where next_scheduled_for is not null
