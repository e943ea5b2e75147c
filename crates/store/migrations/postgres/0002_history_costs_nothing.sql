-- Indexes with which ended runs cost the hot path nothing, and many triggers of one instant are read in
-- their order. The same as ../sqlite/0002_history_costs_nothing.sql.

-- Whoever asks what waits for a seat would read its whole history by this one. What belongs to a seat is
-- found by its session.
drop index agent_runs_by_seat;

drop index agent_runs_deferred_by_automation;
create index agent_runs_open_by_automation on agent_runs (automation_id, status)
    where automation_id is not null and status in ('queued', 'deferred', 'delivered', 'running');

drop index automation_triggers_due;
create index automation_triggers_due on automation_triggers (next_fire_at, id)
    where next_fire_at is not null;
