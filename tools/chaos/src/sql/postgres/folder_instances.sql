-- All instances with a folder.
select id from automation.instances where kind = 'directory'
