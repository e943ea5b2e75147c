-- Says since when the oldest transaction is open in this database, of sessions as far as the role may see and of
-- those that were prepared: nothing that was removed or changed since is cleaned up before its end.
select least(
    (
        select min(a.xact_start) from pg_stat_activity a
        where a.datname = current_database() and a.pid <> pg_backend_pid()
          and a.backend_type = 'client backend'
    ),
    (select min(p.prepared) from pg_prepared_xacts p where p.database = current_database())
) as since
