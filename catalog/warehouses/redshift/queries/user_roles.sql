-- Roles that users have.
SELECT
    current_database() AS database_name,
    granted.user_id,
    granted.user_name,
    granted.role_id,
    granted.role_name,
    granted.admin_option
FROM svv_user_grants AS granted
