-- Reports of runs without success that precede prompts. The same as ../postgres/0023_run_reports.sql.
--
-- A seat keeps the instant until which its agent has had a report, so that a report needs no search for the last
-- success. Earlier programs do not move it; reports then begin at an earlier instant.

alter table agent_definitions add column runs_reported_until integer;
-- Reports of seats that have had turns begin now, and not with all of their history.
update agent_definitions set runs_reported_until = updated_at where turns > 0;

alter table run_records add column run_report_version integer;
alter table run_records add column run_report text
    constraint run_records_report_has_version check (run_report is null or run_report_version is not null);

-- Each run is in one of these indexes at most, and a run that succeeds is in none.
create index agent_runs_unsuccessful_by_seat on agent_runs (seat_id, ended_at)
    where status in ('failed', 'cancelled', 'stalled');
create index agent_runs_declined_by_seat on agent_runs (seat_id, ended_at)
    where status = 'skipped' and seat_id is not null;
create index agent_runs_unfired_by_automation on agent_runs (automation_id, ended_at)
    where status in ('skipped', 'missed') and seat_id is null and reason not in ('quiet hours', 'precheck');
create index agent_runs_in_quiet_hours_by_automation on agent_runs (automation_id, ended_at)
    where status = 'skipped' and seat_id is null and reason = 'quiet hours';
