-- Searches that read only the rows that they find. The same as ../postgres/0034_shorter_searches.sql.

-- The list of runs with one reason read all runs, the newest first, until it had found a page: 6,000 of them for a hundred
-- that were not signed in. Runs that succeed have no reason and cost nothing here.
create index agent_runs_by_reason on agent_runs (tenant_id, reason, id) where reason is not null;

-- The dispatcher of trigger files read all runs whose files wait in a folder, to find the file that is due next. The rows
-- of files that a runtime has taken stay, and leave the index: their last attempt is the one that took them. Earlier programs
-- count attempts, but do not fill the column. So a file that they claim comes back into the index, and one that they take
-- stays there until its run shows that nothing waits.
alter table trigger_files add column taken_attempt integer not null default 0;
update trigger_files set taken_attempt = attempt where not exists (
    select 1
    from agent_runs r
    where r.id = trigger_files.run_id
      and (r.status = 'queued' or r.status = 'delivered' and r.worker_id = 'trigger-file')
);
create index trigger_files_untaken on trigger_files (instance_id, next_attempt_at) where taken_attempt <> attempt;

-- The overview read all automations to find the few that need a person.
create index automations_paused_or_noticed on automations (tenant_id)
    where deleted_at is null and (attention is not null or pause_reason is not null);

-- The overview of a day read all runs of two days before it, because some of them may have ended in it. Only runs that
-- end more than an hour after their creation are in this index, so that the others cost nothing more.
create index agent_runs_late on agent_runs (tenant_id, ended_at) where ended_at - created_at > 3600000000;
