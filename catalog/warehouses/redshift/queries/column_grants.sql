-- Privileges on single columns.
SELECT
    current_database() AS database_name,
    privilege.namespace_name,
    privilege.relation_name,
    privilege.column_name,
    privilege.privilege_type,
    privilege.identity_id,
    privilege.identity_name,
    privilege.identity_type
FROM svv_column_privileges AS privilege
WHERE privilege.namespace_name NOT IN ('pg_catalog', 'information_schema', 'pg_internal')
