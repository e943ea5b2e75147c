-- Advances triggers from the instants at which they were read. An edit, a pause or another scheduler has moved a
-- trigger that is not returned, and the caller must not fire it.
-- Each row: :id, :before instant before, :next next instant or null, :fires fires at or null, :last last
-- instant, :done done at or null. :now
with item (id, before, next, fires, last, done) as (values /* row */ (:id, :before, :next, :fires, :last, :done))
update automation_triggers
set next_scheduled_for = item.next, next_fire_at = item.fires,
    last_scheduled_for = case
        when last_scheduled_for is null or item.last > last_scheduled_for then item.last
        else last_scheduled_for
    end,
    done_at = item.done, updated_at = :now
from item
where automation_triggers.id = item.id and next_scheduled_for = item.before
returning automation_triggers.id
