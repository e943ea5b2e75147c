-- Writes the counters and the state of a goal, only if nothing has moved it since it was read.
-- :session, :revision that was read, :state, :reason, :cause, :plan_version, :progress, :limits, :format, :check_at,
-- :check_for, :until or null, :until_passed, :ended, :now
update goals
set revision = revision + 1, state = :state, reason = :reason, cause = :cause, plan_version = :plan_version, progress = :progress,
    limits = :limits, format = :format, check_at = :check_at, check_for = :check_for, until_at = :until, until_passed = :until_passed, ended_at = :ended, updated_at = :now
where session_id = :session and revision = :revision
