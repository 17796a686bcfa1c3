-- The roles of the catalog.
SELECT
    current_catalog AS role_catalog,
    role.role_name
FROM information_schema.roles AS role
