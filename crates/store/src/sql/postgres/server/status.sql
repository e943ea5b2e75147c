-- Returns the role's privileges in the schema, the settings of vacuuming, and the numbers of connections that are
-- open and that the role may open in this database. Table names are joined by commas; null if there are none.
select
    cast(current_user as text) as role,
    has_schema_privilege('automation', 'usage') as may_use,
    has_schema_privilege('automation', 'create') as may_create,
    (
        select string_agg(cast(c.relname as text), ', ' order by c.relname)
        from pg_class c
        where c.relnamespace = to_regnamespace('automation') and c.relkind in ('r', 'p')
          and not (
              has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
              and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete')
          )
    ) as inaccessible_tables,
    (
        select string_agg(cast(c.relname as text), ', ' order by c.relname)
        from pg_class c
        where c.relnamespace = to_regnamespace('automation') and c.relkind in ('r', 'p')
          and not pg_has_role(c.relowner, 'usage')
    ) as tables_of_other_roles,
    cast(current_setting('autovacuum') as boolean)
        and cast(current_setting('track_counts') as boolean) as autovacuum_enabled,
    (
        select string_agg(cast(c.relname as text), ', ' order by c.relname)
        from pg_class c
        cross join lateral pg_options_to_table(c.reloptions) o
        where c.relnamespace = to_regnamespace('automation') and c.relkind in ('r', 'p')
          and o.option_name = 'autovacuum_enabled' and not cast(o.option_value as boolean)
    ) as tables_without_autovacuum,
    least(
        cast(current_setting('max_connections') as bigint)
            - cast(current_setting('superuser_reserved_connections') as bigint)
            - cast(coalesce(current_setting('reserved_connections', true), '0') as bigint),
        (select nullif(r.rolconnlimit, -1) from pg_roles r where r.rolname = current_user),
        (select nullif(d.datconnlimit, -1) from pg_database d where d.datname = current_database())
    ) as connections_allowed,
    (select count(*) from pg_stat_activity where datid is not null) as total_connections,
    (
        select count(*) from pg_stat_activity
        where datname = current_database() and application_name = 'matins'
    ) as matins_connections
