-- Lists of goals that read only the rows that they show, and goals whose directory is on all servers. The same as
-- ../sqlite/0035_goal_lists.sql.

-- The overview read all goals that have failed to find the few that were given up within a day.
create index goals_given_up on goals (tenant_id, ended_at, session_id) where state = 'failed' and reason = 'stuck for too long';

-- Each goal of a list read all questions and approvals that its agents have ever had to count the open ones.
create index questions_pending_by_session on questions (session_id) where state = 'pending';
create index approvals_pending_by_session on approvals (session_id) where state = 'pending';

-- The directory of the goal is on all servers, so that its seats may share it from any of them. Earlier programs do not know the
-- column; `needs_format` of the seats keeps them from the runs.
alter table goals add column on_all_servers boolean not null default false;
