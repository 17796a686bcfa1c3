-- Tables, views, materialized views, foreign and partitioned tables: who owns them, and who has which privilege.
-- Relations without an entry in relacl have the privileges that acldefault gives to their owner.
SELECT
    current_database() AS database_name,
    schema.nspname AS schema_name,
    relation.relname AS relation_name,
    CASE relation.relkind
        WHEN 'r' THEN 'TABLE'
        WHEN 'v' THEN 'VIEW'
        WHEN 'm' THEN 'MATERIALIZED VIEW'
        WHEN 'f' THEN 'FOREIGN TABLE'
        WHEN 'p' THEN 'PARTITIONED TABLE'
    END AS relation_kind,
    pg_get_userbyid(relation.relowner) AS owner_name,
    pg_get_userbyid(granted.grantor) AS grantor_name,
    CASE WHEN granted.grantee = 0 THEN 'public' ELSE pg_get_userbyid(granted.grantee) END AS grantee_name,
    granted.privilege_type,
    granted.is_grantable
FROM pg_class AS relation
JOIN pg_namespace AS schema ON schema.oid = relation.relnamespace
CROSS JOIN LATERAL (
    SELECT grantor, grantee, privilege_type, is_grantable
    FROM aclexplode(coalesce(relation.relacl, acldefault('r', relation.relowner)))
    UNION ALL
    SELECT relation.relowner, relation.relowner, 'OWNER', true
) AS granted
WHERE relation.relkind IN ('r', 'v', 'm', 'f', 'p')
    AND schema.nspname <> 'information_schema'
    AND schema.nspname NOT LIKE 'pg\_%'
