-- All instances with a folder, each as JSON.
select json_object('id', lower(hex(id))) from instances where kind = 'directory'
