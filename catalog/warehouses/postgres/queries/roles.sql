-- All roles of the cluster, people among them. An object that depends on a role, in any database, keeps it from being dropped.
SELECT
    role.rolname AS role_name,
    role.rolsuper AS is_superuser,
    role.rolcanlogin AS can_login,
    role.rolinherit AS inherits,
    role.rolbypassrls AS bypasses_row_security,
    role.oid = 10 AS is_bootstrap,
    role.rolvaliduntil AS valid_until,
    (
        SELECT count(*)
        FROM pg_shdepend AS dependency
        WHERE dependency.refclassid = 'pg_authid'::regclass AND dependency.refobjid = role.oid
    ) AS dependency_count
FROM pg_roles AS role
