-- Counts the artifacts of a turn, in all attempts at its input, and those of a session, and adds up the sizes of those of a
-- tenant.
-- $1 tenant, $2 session, $3 input
select
    (select count(*) from agent_artifacts where run_id in (select id from agent_runs where input_id = $3)) as of_turn,
    (select count(*) from agent_artifacts where session_id = $2) as of_session,
    (select cast(coalesce(sum(size_bytes), 0) as bigint) from agent_artifacts
        where tenant_id = $1 and sha256 is not null) as bytes_of_tenant
