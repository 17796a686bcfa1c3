-- Who owns tables and views: nothing is revoked from an owner.
SELECT
    current_database() AS database_name,
    schema.nspname AS schema_name,
    relation.relname AS relation_name,
    owner.usename AS owner_name
FROM pg_class AS relation
JOIN pg_namespace AS schema ON schema.oid = relation.relnamespace
JOIN pg_user AS owner ON owner.usesysid = relation.relowner
WHERE relation.relkind IN ('r', 'v')
    AND schema.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_internal', 'pg_toast')
    AND schema.nspname NOT LIKE 'pg_temp%'
