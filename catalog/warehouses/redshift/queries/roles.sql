-- All roles.
SELECT
    role.role_id,
    role.role_name,
    role.role_owner
FROM svv_roles AS role
