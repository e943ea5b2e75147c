-- Stores the next instants of triggers as the zone rules of this program compute them. Changes no trigger that an
-- edit, a pause or a scheduler has moved in the meantime, and none that a later edition has computed. Keeps the instant
-- of the last update, because a cursor of unknown rules continues after it: everything before was decided then.
-- Each row: :id, :before instant before, :next next instant or null, :fires fires at or null, :done done at or null,
-- :decided decided until or null, :offset offset of the zone then or null. :zone_rules edition of the zone rules
with item (id, before, next, fires, done, decided, zone_offset) as (
    values /* row */ (:id, :before, :next, :fires, :done, :decided, :offset)
)
update automation_triggers
set next_scheduled_for = item.next, next_fire_at = item.fires, done_at = item.done,
    zone_rules = :zone_rules, zone_rules_for = item.next,
    decided_until = item.decided, decided_offset = item.zone_offset
from item
where automation_triggers.id = item.id and next_scheduled_for = item.before
  and coalesce(case when zone_rules_for = next_scheduled_for then automation_triggers.zone_rules end, '') < :zone_rules
returning automation_triggers.id
