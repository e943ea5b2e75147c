-- The edition of the zone rules that computed a trigger's next instant, and the edition of each server. The same as
-- ../postgres/0014_zone_rules.sql.
--
-- `zone_rules` holds for the instant in `zone_rules_for` alone: an earlier program moves `next_scheduled_for` and does
-- not know these columns. `decided_until` is the instant after which the next one was searched, and `decided_offset`
-- the seconds between UTC and the zone at that instant.

alter table automation_triggers add column zone_rules text;
alter table automation_triggers add column zone_rules_for integer;
alter table automation_triggers add column decided_until integer;
alter table automation_triggers add column decided_offset integer;

-- A server finds the instants that an older edition computed, or an unknown one, which counts as the oldest.
create index automation_triggers_by_zone_rules on automation_triggers
    (coalesce(case when zone_rules_for = next_scheduled_for then zone_rules end, ''), next_fire_at)
    where next_fire_at is not null and kind = 'cron' and spec ->> 'zone' <> 'UTC';

-- The edition of a server's zone rules holds for `zone_rules_worker` alone, because an earlier program replaces the
-- worker only.
alter table servers add column zone_rules text;
alter table servers add column zone_rules_worker text;
