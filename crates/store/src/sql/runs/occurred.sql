-- Says whether an instant of a trigger has its row: with a clock that was set back, and a schedule
-- that a person had worked out anew, it may come a second time.
-- $1 trigger, $2 instant
select exists (
    select 1 from agent_runs where trigger_id = $1 and scheduled_for = $2 and attempt = 1
) as occurred
