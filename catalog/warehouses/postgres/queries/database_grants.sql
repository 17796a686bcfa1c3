-- The database: without CONNECT nobody gets in. Unless it was revoked, everybody has it.
SELECT
    database.datname AS database_name,
    pg_get_userbyid(database.datdba) AS owner_name,
    pg_get_userbyid(granted.grantor) AS grantor_name,
    CASE WHEN granted.grantee = 0 THEN 'public' ELSE pg_get_userbyid(granted.grantee) END AS grantee_name,
    granted.privilege_type,
    granted.is_grantable
FROM pg_database AS database
CROSS JOIN LATERAL (
    SELECT grantor, grantee, privilege_type, is_grantable
    FROM aclexplode(coalesce(database.datacl, acldefault('d', database.datdba)))
    UNION ALL
    SELECT database.datdba, database.datdba, 'OWNER', true
) AS granted
WHERE database.datname = current_database()
