-- Moves triggers on from the instants at which they were read; one that does not come back was moved
-- meanwhile, by an edit, a pause or another scheduler, and nothing of it may be fired.
-- Each row: $1 id, $2 instant before, $3 next instant or null, $4 fires at or null, $5 last instant,
-- $6 done at or null. $7 now
with item (id, before, next, fires, last, done) as (values ($1, $2, $3, $4, $5, $6))
update automation_triggers
set next_scheduled_for = item.next, next_fire_at = item.fires,
    last_scheduled_for = case
        when last_scheduled_for is null or item.last > last_scheduled_for then item.last
        else last_scheduled_for
    end,
    done_at = item.done, updated_at = $7
from item
where automation_triggers.id = item.id and next_scheduled_for = item.before
returning automation_triggers.id
