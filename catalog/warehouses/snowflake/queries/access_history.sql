-- Who used what as which role. Access History is part of the Enterprise Edition.
SELECT
    used.query_id,
    used.query_start_time,
    used.user_name,
    to_json(used.direct_objects_accessed) AS direct_objects_accessed,
    to_json(used.base_objects_accessed) AS base_objects_accessed,
    to_json(used.objects_modified) AS objects_modified,
    query.role_name,
    query.execution_status
FROM snowflake.account_usage.access_history AS used
LEFT JOIN snowflake.account_usage.query_history AS query ON query.query_id = used.query_id
WHERE used.query_start_time >= dateadd(day, -100, current_timestamp())
