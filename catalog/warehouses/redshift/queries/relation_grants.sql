-- Privileges on tables and views. Datashares stand among the roles as ds:NAME.
SELECT
    current_database() AS database_name,
    privilege.namespace_name,
    privilege.relation_name,
    privilege.privilege_type,
    privilege.identity_id,
    privilege.identity_name,
    privilege.identity_type,
    privilege.admin_option
FROM svv_relation_privileges AS privilege
WHERE privilege.namespace_name NOT IN ('pg_catalog', 'information_schema', 'pg_internal')
