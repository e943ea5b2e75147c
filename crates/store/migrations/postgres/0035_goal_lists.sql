-- Lists of goals that read only the rows that they show. The same as ../sqlite/0035_goal_lists.sql.

-- The overview read all goals that have failed to find the few that were given up within a day.
create index goals_given_up on goals (tenant_id, ended_at, session_id) where state = 'failed' and reason = 'stuck for too long';

-- Each goal of a list read all questions and approvals that its agents have ever had to count the open ones.
create index questions_pending_by_session on questions (session_id) where state = 'pending';
create index approvals_pending_by_session on approvals (session_id) where state = 'pending';
