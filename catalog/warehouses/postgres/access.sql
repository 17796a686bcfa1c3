-- What everybody may do, as the server itself answers: holder, privilege, on what. It is read before and after statements.
-- That superusers may do everything is one fact: what is granted to them changes nothing.
WITH relation AS (
    SELECT class.oid, class.relowner, class.relacl, quote_ident(schema.nspname) || '.' || quote_ident(class.relname) AS name
    FROM pg_class AS class
    JOIN pg_namespace AS schema ON schema.oid = class.relnamespace
    WHERE class.relkind IN ('r', 'v', 'm', 'f', 'p')
        AND schema.nspname <> 'information_schema'
        AND schema.nspname NOT LIKE 'pg\_%'
),
account AS (SELECT oid, rolname FROM pg_roles WHERE NOT rolsuper)
SELECT account.rolname, privilege.name, relation.name
FROM account
CROSS JOIN relation
CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE'), ('TRUNCATE'), ('REFERENCES'), ('TRIGGER'))
    AS privilege (name)
WHERE has_table_privilege(account.oid, relation.oid, privilege.name)
UNION ALL
SELECT account.rolname, privilege.name || ' on columns', relation.name
FROM account
CROSS JOIN relation
CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('REFERENCES')) AS privilege (name)
WHERE NOT has_table_privilege(account.oid, relation.oid, privilege.name)
    AND has_any_column_privilege(account.oid, relation.oid, privilege.name)
UNION ALL
SELECT pg_get_userbyid(granted.grantee), granted.privilege_type || ' WITH GRANT OPTION', relation.name
FROM relation
CROSS JOIN LATERAL (
    SELECT * FROM aclexplode(relation.relacl)
    UNION ALL
    SELECT entry.*
    FROM pg_attribute AS attribute
    CROSS JOIN LATERAL aclexplode(attribute.attacl) AS entry
    WHERE attribute.attrelid = relation.oid
) AS granted
WHERE granted.is_grantable AND granted.grantee <> relation.relowner
UNION ALL
SELECT pg_get_userbyid(member), 'ADMIN OPTION', 'role ' || quote_ident(pg_get_userbyid(roleid))
FROM pg_auth_members
WHERE admin_option
UNION ALL
SELECT pg_get_userbyid(relation.relowner), 'OWNER', relation.name
FROM relation
UNION ALL
SELECT account.rolname, privilege.name, 'schema ' || quote_ident(schema.nspname)
FROM account
CROSS JOIN pg_namespace AS schema
CROSS JOIN (VALUES ('USAGE'), ('CREATE')) AS privilege (name)
WHERE schema.nspname <> 'information_schema'
    AND schema.nspname NOT LIKE 'pg\_%'
    AND has_schema_privilege(account.oid, schema.oid, privilege.name)
UNION ALL
SELECT account.rolname, privilege.name, 'database ' || quote_ident(current_database())
FROM account
CROSS JOIN (VALUES ('CONNECT'), ('CREATE'), ('TEMPORARY')) AS privilege (name)
WHERE has_database_privilege(account.oid, current_database(), privilege.name)
UNION ALL
SELECT account.rolname, 'MEMBER', 'role ' || quote_ident(role.rolname)
FROM account
JOIN pg_roles AS role ON role.oid <> account.oid
WHERE pg_has_role(account.oid, role.oid, 'MEMBER')
UNION ALL
SELECT
    CASE WHEN granted.grantee = 0 THEN 'public' ELSE pg_get_userbyid(granted.grantee) END,
    granted.privilege_type,
    'what ' || quote_ident(pg_get_userbyid(defaults.defaclrole)) || ' makes'
        || coalesce(' in ' || quote_ident(schema.nspname), '') || ' (' || defaults.defaclobjtype::text || ')'
FROM pg_default_acl AS defaults
LEFT JOIN pg_namespace AS schema ON schema.oid = defaults.defaclnamespace
CROSS JOIN LATERAL aclexplode(defaults.defaclacl) AS granted
-- What somebody may do with his own stands there only while others may, too.
WHERE granted.grantee <> defaults.defaclrole
UNION ALL
SELECT role.rolname, attribute.name, 'the server'
FROM pg_roles AS role
CROSS JOIN LATERAL (
    VALUES
        ('EXISTS', true),
        ('SUPERUSER', role.rolsuper),
        ('LOGIN', role.rolcanlogin),
        ('BYPASSRLS', role.rolbypassrls),
        ('CREATEROLE', role.rolcreaterole),
        ('CREATEDB', role.rolcreatedb),
        ('REPLICATION', role.rolreplication)
) AS attribute (name, is_set)
WHERE attribute.is_set
