-- Privileges on single columns. One on the whole relation stands in relation_grants.
SELECT
    current_database() AS database_name,
    schema.nspname AS schema_name,
    relation.relname AS relation_name,
    attribute.attname AS column_name,
    pg_get_userbyid(relation.relowner) AS owner_name,
    pg_get_userbyid(granted.grantor) AS grantor_name,
    CASE WHEN granted.grantee = 0 THEN 'public' ELSE pg_get_userbyid(granted.grantee) END AS grantee_name,
    granted.privilege_type,
    granted.is_grantable
FROM pg_attribute AS attribute
JOIN pg_class AS relation ON relation.oid = attribute.attrelid
JOIN pg_namespace AS schema ON schema.oid = relation.relnamespace
CROSS JOIN LATERAL aclexplode(attribute.attacl) AS granted
WHERE NOT attribute.attisdropped
    AND relation.relkind IN ('r', 'v', 'm', 'f', 'p')
    AND schema.nspname <> 'information_schema'
    AND schema.nspname NOT LIKE 'pg\_%'
