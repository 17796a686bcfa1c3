-- Schemas: who gets in, which are external, and privileges for all tables in them. Owners get in without a grant.
SELECT
    current_database() AS database_name,
    privilege.namespace_name,
    privilege.privilege_type,
    privilege.identity_id,
    privilege.identity_name,
    privilege.identity_type,
    privilege.admin_option,
    privilege.privilege_scope,
    external.schemaname IS NOT NULL AS is_external
FROM svv_schema_privileges AS privilege
LEFT JOIN svv_external_schemas AS external ON external.schemaname = privilege.namespace_name
WHERE privilege.namespace_name NOT IN ('pg_catalog', 'information_schema', 'pg_internal')
UNION ALL
SELECT
    current_database(),
    schema.nspname,
    'OWNER',
    owner.usesysid,
    owner.usename,
    'user',
    true,
    'SCHEMA',
    external.schemaname IS NOT NULL
FROM pg_namespace AS schema
JOIN pg_user AS owner ON owner.usesysid = schema.nspowner
LEFT JOIN svv_external_schemas AS external ON external.schemaname = schema.nspname
WHERE schema.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_internal', 'pg_toast')
    AND schema.nspname NOT LIKE 'pg_temp%'
