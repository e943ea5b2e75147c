-- The time that turns take, for budgets of minutes, in milliseconds. The same as
-- ../postgres/0015_minutes_of_turns.sql. Earlier programs add nothing to it.

alter table spending add column turn_ms integer not null default 0
    constraint spending_time_counted check (turn_ms >= 0);
