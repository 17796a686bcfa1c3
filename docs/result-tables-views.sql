-- The five tables of earlier releases, as views on the tables of all reports (result-tables.md): each kind is a schema,
-- and `runs` is in the schema `reports`. DuckDB and Spark SQL both take it. Leave out the kinds that you never run.
-- The next release no longer has this file.

CREATE OR REPLACE VIEW findings AS
SELECT * FROM (
    SELECT run, attempt, 'role_mapping_check' AS kind, as_of, policy_version, key, severity, type, sentence,
        CAST(NULL AS STRING) AS policy, CAST(NULL AS STRING) AS other, role, entity, actor, export, members, repair, day
    FROM role_mapping_check.findings
    UNION ALL
    SELECT run, attempt, 'warehouse_usage', as_of, policy_version, key, severity, type, sentence,
        NULL, NULL, role, entity, actor, export, members, repair, day
    FROM warehouse_usage.findings
    UNION ALL
    SELECT run, attempt, 'policy_hygiene', as_of, policy_version, key, severity, type, sentence,
        policy, other, NULL, entity, person, NULL, NULL, repair, day
    FROM policy_hygiene.findings
) AS rows_of_kinds
WHERE run IN (SELECT run FROM reports.runs);

CREATE OR REPLACE VIEW drift AS
SELECT run, attempt, 'role_mapping_check' AS kind, as_of, policy_version, type, severity, export, role_urn AS role,
    role AS role_name, entity, actor, grantee, object, via, CAST(level AS BIGINT) AS level,
    CAST(wanted AS BIGINT) AS declared_level, count, rule, day
FROM role_mapping_check.differences
WHERE run IN (SELECT run FROM reports.runs);

CREATE OR REPLACE VIEW access_edges AS
SELECT run, attempt, 'effective_access' AS kind, as_of, policy_version, privilege, entity, crowd, person, day
FROM effective_access.edges
WHERE run IN (SELECT run FROM reports.runs);

CREATE OR REPLACE VIEW usage AS
SELECT * FROM (
    SELECT run, attempt, 'warehouse_usage' AS kind, as_of, policy_version, 'grants' AS table, state,
        CAST(last AS TIMESTAMP) AS last_use, CAST(NULL AS STRING) AS policy, CAST(NULL AS STRING) AS privilege,
        CAST(NULL AS STRING) AS person, CAST(NULL AS STRING) AS group, export, grantee, role,
        CAST(NULL AS STRING) AS held, object, tables AS datasets, used AS used_datasets,
        CAST(NULL AS BIGINT) AS people, people AS used_by, day
    FROM warehouse_usage.grants
    UNION ALL
    SELECT run, attempt, 'warehouse_usage', as_of, policy_version, 'memberships', state, CAST(last AS TIMESTAMP),
        NULL, NULL, person, NULL, export, NULL, role, held, NULL, NULL, NULL, NULL, NULL, day
    FROM warehouse_usage.memberships
    UNION ALL
    SELECT run, attempt, 'unused_access', as_of, policy_version, 'policies', state, CAST(last AS TIMESTAMP),
        policy, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, people, used_by, day
    FROM unused_access.policies
    UNION ALL
    SELECT run, attempt, 'unused_access', as_of, policy_version, 'privileges', state, CAST(last AS TIMESTAMP),
        NULL, privilege, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, people, used_by, day
    FROM unused_access.privileges
    UNION ALL
    SELECT run, attempt, 'unused_access', as_of, policy_version, 'people', state, NULL,
        NULL, privilege, person, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, day
    FROM unused_access.people
    UNION ALL
    SELECT run, attempt, 'unused_access', as_of, policy_version, 'memberships', state, NULL,
        NULL, NULL, person, held.group, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, day
    FROM unused_access.memberships AS held
) AS rows_of_kinds
WHERE run IN (SELECT run FROM reports.runs);

CREATE OR REPLACE VIEW counts AS
SELECT * FROM (
    SELECT run, attempt, 'effective_access' AS kind, as_of, policy_version, 'people' AS table, 'entities' AS measure,
        privilege, person AS subject, CAST(NULL AS STRING) AS object,
        entities AS value, day
    FROM effective_access.people
    UNION ALL
    SELECT run, attempt, 'effective_access', as_of, policy_version, 'entities', 'people',
        privilege, entity, NULL,
        people, day
    FROM effective_access.entities
    UNION ALL
    SELECT run, attempt, 'effective_access', as_of, policy_version, 'domains', measure,
        privilege, domain, NULL,
        CASE measure WHEN 'entities' THEN entities WHEN 'people' THEN people ELSE accesses END, day
    FROM effective_access.domains
        CROSS JOIN (VALUES ('entities'), ('people'), ('accesses')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'effective_access', as_of, policy_version, 'platforms', measure,
        privilege, platform, NULL,
        CASE measure WHEN 'entities' THEN entities WHEN 'people' THEN people ELSE accesses END, day
    FROM effective_access.platforms
        CROSS JOIN (VALUES ('entities'), ('people'), ('accesses')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'effective_access', as_of, policy_version, 'tags', measure,
        privilege, tag, NULL,
        CASE measure WHEN 'entities' THEN entities WHEN 'people' THEN people ELSE accesses END, day
    FROM effective_access.tags
        CROSS JOIN (VALUES ('entities'), ('people'), ('accesses')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'policy_impact', as_of, policy_version, 'privileges', measure,
        privilege, NULL, NULL,
        CASE measure
            WHEN 'people_gain' THEN people_gain WHEN 'people_lose' THEN people_lose WHEN 'gained' THEN gained
            ELSE lost END, day
    FROM policy_impact.privileges
        CROSS JOIN (VALUES ('people_gain'), ('people_lose'), ('gained'), ('lost')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'policy_impact', as_of, policy_version, 'groups', measure,
        privilege, rows_of.group, NULL,
        CASE measure
            WHEN 'people_gain' THEN people_gain WHEN 'people_lose' THEN people_lose WHEN 'gained' THEN gained
            ELSE lost END, day
    FROM policy_impact.groups AS rows_of
        CROSS JOIN (VALUES ('people_gain'), ('people_lose'), ('gained'), ('lost')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'policy_impact', as_of, policy_version, 'people', measure,
        privilege, person, NULL,
        CASE measure WHEN 'gained' THEN gained ELSE lost END, day
    FROM policy_impact.people
        CROSS JOIN (VALUES ('gained'), ('lost')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'policy_hygiene', as_of, policy_version, 'policies', measure,
        NULL, policy, NULL,
        CASE measure WHEN 'people' THEN people WHEN 'entities' THEN entities ELSE findings END, day
    FROM policy_hygiene.policies
        CROSS JOIN (VALUES ('people'), ('entities'), ('findings')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'dataset_access_check', as_of, policy_version, 'assertions', measure,
        NULL, assertion, NULL,
        CASE measure WHEN 'people' THEN people ELSE entities END, day
    FROM dataset_access_check.assertions
        CROSS JOIN (VALUES ('people'), ('entities')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'role_mapping_check', as_of, policy_version, 'compliance', measure,
        NULL, role, tag,
        CASE measure WHEN 'declared' THEN declared ELSE opened END, day
    FROM role_mapping_check.compliance
        CROSS JOIN (VALUES ('declared'), ('opened')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'role_mapping_check', as_of, policy_version, 'exports', measure,
        NULL, export, NULL,
        CASE measure
            WHEN 'rows' THEN rows WHEN 'compared' THEN compared WHEN 'passed' THEN passed
            WHEN 'quarantined' THEN quarantined WHEN 'grants' THEN grants WHEN 'members' THEN members
            ELSE inherited END, day
    FROM role_mapping_check.exports
        CROSS JOIN (VALUES ('rows'), ('compared'), ('passed'), ('quarantined'), ('grants'), ('members'), ('inherited'))
        AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'role_mapping_check', as_of, policy_version, 'passed', 'count',
        NULL, export, rule,
        count, day
    FROM role_mapping_check.passed
    UNION ALL
    SELECT run, attempt, 'warehouse_usage', as_of, policy_version, 'exports', measure,
        NULL, export, NULL,
        CASE measure
            WHEN 'rows' THEN rows WHEN 'compared' THEN compared WHEN 'passed' THEN passed
            ELSE quarantined END, day
    FROM warehouse_usage.exports
        CROSS JOIN (VALUES ('rows'), ('compared'), ('passed'), ('quarantined')) AS measures(measure)
    UNION ALL
    SELECT run, attempt, 'warehouse_usage', as_of, policy_version, 'passed', 'count',
        NULL, export, rule,
        count, day
    FROM warehouse_usage.passed
) AS rows_of_kinds
WHERE run IN (SELECT run FROM reports.runs);
