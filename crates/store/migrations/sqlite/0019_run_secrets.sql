-- The hash of the secret that only the process which takes a run's turn knows. The same as ../postgres/0019_run_secrets.sql.
--
-- Whoever shows the secret gets the assignment of the run again while the run is `running`, so that no end of a run has
-- to revoke it. Earlier programs do not know the column: their runs have no secret, and their starts are not repeated.

alter table agent_runs add column secret_hash blob
    constraint agent_runs_secret_hash_is_whole check (length(secret_hash) = 32);
