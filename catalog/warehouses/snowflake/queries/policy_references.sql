-- Masks and row filters, and the tables before whose data they stand.
SELECT
    ref_database_name,
    ref_schema_name,
    ref_entity_name,
    ref_entity_domain,
    policy_name,
    policy_kind,
    policy_status
FROM snowflake.account_usage.policy_references
