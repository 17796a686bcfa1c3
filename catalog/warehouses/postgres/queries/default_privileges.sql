-- Privileges that new objects of a role get when they are made. Without a schema they hold in all of them.
SELECT
    current_database() AS database_name,
    pg_get_userbyid(defaults.defaclrole) AS role_name,
    schema.nspname AS schema_name,
    CASE defaults.defaclobjtype
        WHEN 'r' THEN 'TABLES'
        WHEN 'S' THEN 'SEQUENCES'
        WHEN 'f' THEN 'FUNCTIONS'
        WHEN 'T' THEN 'TYPES'
        WHEN 'n' THEN 'SCHEMAS'
        ELSE defaults.defaclobjtype::text
    END AS object_type,
    pg_get_userbyid(granted.grantor) AS grantor_name,
    CASE WHEN granted.grantee = 0 THEN 'public' ELSE pg_get_userbyid(granted.grantee) END AS grantee_name,
    granted.privilege_type,
    granted.is_grantable
FROM pg_default_acl AS defaults
LEFT JOIN pg_namespace AS schema ON schema.oid = defaults.defaclnamespace
CROSS JOIN LATERAL aclexplode(defaults.defaclacl) AS granted
