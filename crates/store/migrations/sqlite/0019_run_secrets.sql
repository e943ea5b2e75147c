-- The hash of the secret with which a run's agent uses its tools. The same as ../postgres/0019_run_secrets.sql.
--
-- The secret is valid while the run is `running`, so that no end of a run has to revoke it. Earlier programs do not know
-- the column: their runs have no secret, and their agents no tools.

alter table agent_runs add column secret_hash blob
    constraint agent_runs_secret_hash_is_whole check (length(secret_hash) = 32);
