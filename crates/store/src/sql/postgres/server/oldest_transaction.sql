-- Returns the beginning of the oldest open or prepared transaction in this database, as far as the role may see.
-- Vacuum cannot remove rows that were changed since then.
select least(
    (
        select min(a.xact_start) from pg_stat_activity a
        where a.datname = current_database() and a.pid <> pg_backend_pid()
          and a.backend_type = 'client backend'
    ),
    (select min(p.prepared) from pg_prepared_xacts p where p.database = current_database())
) as since
