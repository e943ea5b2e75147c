-- Lists the instants of triggers that have a row already. An instant comes again if the clock was set back, or if a
-- person edited the schedule.
-- Each row: $1 trigger, $2 instant
with item (trigger_id, instant) as (values /* row */ ($1, $2))
select r.trigger_id, r.scheduled_for
from item
join agent_runs r
    on r.trigger_id = item.trigger_id and r.scheduled_for = item.instant and r.attempt = 1
