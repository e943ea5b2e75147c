-- Wakes the schedulers of all servers after the commit, for work that no trigger of a table reports.
select pg_notify('matins_wake', 'schedule')
