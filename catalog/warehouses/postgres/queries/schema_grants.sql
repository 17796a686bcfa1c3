-- Schemas: without USAGE on its schema nobody reaches a relation, whatever he has on it.
SELECT
    current_database() AS database_name,
    schema.nspname AS schema_name,
    pg_get_userbyid(schema.nspowner) AS owner_name,
    pg_get_userbyid(granted.grantor) AS grantor_name,
    CASE WHEN granted.grantee = 0 THEN 'public' ELSE pg_get_userbyid(granted.grantee) END AS grantee_name,
    granted.privilege_type,
    granted.is_grantable
FROM pg_namespace AS schema
CROSS JOIN LATERAL (
    SELECT grantor, grantee, privilege_type, is_grantable
    FROM aclexplode(coalesce(schema.nspacl, acldefault('n', schema.nspowner)))
    UNION ALL
    SELECT schema.nspowner, schema.nspowner, 'OWNER', true
) AS granted
WHERE schema.nspname <> 'information_schema'
    AND schema.nspname NOT LIKE 'pg\_%'
