-- Moves a trigger on from the instant at which it was read; no row means that it was moved
-- meanwhile, by an edit, a pause or another scheduler, and that nothing of it may be fired.
-- $1 id, $2 instant before or null, $3 next instant or null, $4 fires at or null, $5 last instant,
-- $6 done at or null, $7 now
update automation_triggers
set next_scheduled_for = $3, next_fire_at = $4,
    last_scheduled_for = case
        when last_scheduled_for is null or $5 > last_scheduled_for then $5
        else last_scheduled_for
    end,
    done_at = $6, updated_at = $7
where id = $1 and next_scheduled_for = $2
