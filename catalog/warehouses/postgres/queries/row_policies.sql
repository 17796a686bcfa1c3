-- Policies of row security. They bind nobody where it is not enabled, and the owner only where it is forced.
SELECT
    current_database() AS database_name,
    policy.schemaname AS schema_name,
    policy.tablename AS relation_name,
    policy.policyname AS policy_name,
    policy.cmd AS command,
    array_to_string(policy.roles, ', ') AS role_names,
    policy.permissive AS permissive,
    relation.relrowsecurity AS has_row_security,
    relation.relforcerowsecurity AS forces_row_security
FROM pg_policies AS policy
JOIN pg_namespace AS schema ON schema.nspname = policy.schemaname
JOIN pg_class AS relation ON relation.relnamespace = schema.oid AND relation.relname = policy.tablename
