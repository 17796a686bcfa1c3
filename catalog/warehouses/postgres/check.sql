-- Each row is something that is not as it should be.
WITH expected (should_be, kind, what, on_what, whom) AS (VALUES
    {expected}
),
role AS (
    SELECT oid, '"' || replace(rolname, '"', '""') || '"' AS name FROM pg_roles UNION ALL SELECT 0, 'PUBLIC'
),
schema AS (SELECT *, '"' || replace(nspname, '"', '""') || '"' AS name FROM pg_namespace),
relation AS (
    SELECT class.*, schema.name AS schema_name, schema.name || '."' || replace(class.relname, '"', '""') || '"' AS name
    FROM pg_class AS class
    JOIN schema ON schema.oid = class.relnamespace
    WHERE class.relkind IN ('r', 'v', 'm', 'f', 'p')
),
held (kind, what, on_what, whom) AS (
    SELECT 'GRANT', granted.privilege_type, place.name, role.name
    FROM relation
    CROSS JOIN LATERAL aclexplode(coalesce(relation.relacl, acldefault('r', relation.relowner))) AS granted
    CROSS JOIN LATERAL (VALUES ('ON TABLE ' || relation.name), ('ON ALL TABLES IN SCHEMA ' || relation.schema_name))
        AS place (name)
    JOIN role ON role.oid = granted.grantee
    UNION ALL
    SELECT 'GRANT', granted.privilege_type || ' ("' || replace(attribute.attname, '"', '""') || '")',
        'ON TABLE ' || relation.name, role.name
    FROM relation
    JOIN pg_attribute AS attribute ON attribute.attrelid = relation.oid
    CROSS JOIN LATERAL aclexplode(attribute.attacl) AS granted
    JOIN role ON role.oid = granted.grantee
    UNION ALL
    SELECT 'GRANT', granted.privilege_type, 'ON SCHEMA ' || schema.name, role.name
    FROM schema
    CROSS JOIN LATERAL aclexplode(coalesce(schema.nspacl, acldefault('n', schema.nspowner))) AS granted
    JOIN role ON role.oid = granted.grantee
    UNION ALL
    SELECT 'GRANT', granted.privilege_type, 'ON DATABASE "' || replace(base.datname, '"', '""') || '"', role.name
    FROM pg_database AS base
    CROSS JOIN LATERAL aclexplode(coalesce(base.datacl, acldefault('d', base.datdba))) AS granted
    JOIN role ON role.oid = granted.grantee
    UNION ALL
    SELECT 'MEMBER', role.name, '', member.name
    FROM pg_auth_members
    JOIN role ON role.oid = pg_auth_members.roleid
    JOIN role AS member ON member.oid = pg_auth_members.member
    UNION ALL
    SELECT 'EXISTS', role.name, '', '' FROM role
    UNION ALL
    SELECT 'OWNER', 'OWNERSHIP', 'ALTER ' || word.word || ' ' || relation.name || ' OWNER TO ', role.name
    FROM relation
    JOIN role ON role.oid = relation.relowner
    JOIN (VALUES ('r', 'TABLE'), ('p', 'TABLE'), ('v', 'VIEW'), ('m', 'MATERIALIZED VIEW'), ('f', 'FOREIGN TABLE'))
        AS word (relkind, word) ON word.relkind = relation.relkind::text
    UNION ALL
    SELECT 'DEFAULT', granted.privilege_type,
        'ALTER DEFAULT PRIVILEGES FOR ROLE ' || maker.name || coalesce(' IN SCHEMA ' || schema.name, ''), role.name
    FROM pg_default_acl AS defaults
    CROSS JOIN LATERAL aclexplode(defaults.defaclacl) AS granted
    JOIN role ON role.oid = granted.grantee
    JOIN role AS maker ON maker.oid = defaults.defaclrole
    LEFT JOIN schema ON schema.oid = defaults.defaclnamespace
    WHERE defaults.defaclobjtype = 'r'
)
SELECT expected.*
FROM expected
WHERE (expected.should_be = 'there') <> EXISTS (
    SELECT FROM held
    WHERE (held.kind, held.what, held.on_what, held.whom)
        = (expected.kind, expected.what, expected.on_what, expected.whom)
);
