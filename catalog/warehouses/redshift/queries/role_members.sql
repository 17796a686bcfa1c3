-- Roles that other roles have.
SELECT
    current_database() AS database_name,
    granted.role_id,
    granted.role_name,
    granted.granted_role_id,
    granted.granted_role_name
FROM svv_role_grants AS granted
