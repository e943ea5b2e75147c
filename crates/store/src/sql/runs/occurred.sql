-- Says which instants of triggers have their rows: with a clock that was set back, and a schedule
-- that a person had worked out anew, one may come a second time.
-- Each row: $1 trigger, $2 instant
with item (trigger_id, instant) as (values /* row */ ($1, $2))
select r.trigger_id, r.scheduled_for
from item
join agent_runs r
    on r.trigger_id = item.trigger_id and r.scheduled_for = item.instant and r.attempt = 1
