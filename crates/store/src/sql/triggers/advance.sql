-- Moves the cursors of triggers on from the instants that were read. Returns no row for a trigger that an edit, a
-- pause or another scheduler has moved in the meantime. The caller must not fire such a trigger.
-- Each row: :id, :before instant before, :next next instant or null, :fires fires at or null, :last last
-- instant, :done done at or null, :zone_rules edition of the zone rules or null, :decided decided until or null,
-- :offset offset of the zone then or null. :now
with item (id, before, next, fires, last, done, zone_rules, decided, zone_offset) as (
    values /* row */ (:id, :before, :next, :fires, :last, :done, :zone_rules, :decided, :offset)
)
update automation_triggers
set next_scheduled_for = item.next, next_fire_at = item.fires,
    zone_rules = item.zone_rules, zone_rules_for = item.next,
    decided_until = item.decided, decided_offset = item.zone_offset,
    last_scheduled_for = case
        when last_scheduled_for is null or item.last > last_scheduled_for then item.last
        else last_scheduled_for
    end,
    done_at = item.done, updated_at = :now
from item
where automation_triggers.id = item.id and next_scheduled_for = item.before
returning automation_triggers.id
