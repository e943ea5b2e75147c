-- An index of the runs that have a reason. The same as ../postgres/0034_runs_with_reason.sql.
--
-- The list of runs with one reason read all runs, the newest first, until it had found a page: 6,000 of them for a hundred
-- that were not signed in. Runs that succeed have no reason and cost nothing here.

create index agent_runs_by_reason on agent_runs (tenant_id, reason, id) where reason is not null;
