-- Who used which dataset when, by a grant to whom: a row for each person and each grantee on whose grants a use rests.
-- A use that rests on no grant has no grantee. Sensitive datasets come first.
WITH named_grantees AS (
    SELECT export, kind, grantee_key, min(grantee) AS name FROM {grants} GROUP BY export, kind, grantee_key
),
rested AS (
    SELECT export, number, person_key, role_key, kind, grantee_key, max(level) AS level, max(last) AS last
    FROM {hits}
    GROUP BY export, number, person_key, role_key, kind, grantee_key
),
used AS (
    SELECT export, number, person_key, role_key, max(person) AS person, max(level) AS level, max(last) AS last
    FROM {uses}
    GROUP BY export, number, person_key, role_key
),
pairs AS (
    SELECT used.export, used.number, used.person_key, used.person, rested.kind, rested.grantee_key,
        max(coalesce(rested.level, used.level)) AS level, max(coalesce(rested.last, used.last)) AS last
    FROM used LEFT JOIN rested USING (export, number, person_key, role_key)
    GROUP BY used.export, used.number, used.person_key, used.person, rested.kind, rested.grantee_key
)
SELECT datasets.urn AS dataset,
    coalesce(users.urn, pairs.person) AS person,
    CASE pairs.kind
        WHEN 'ROLE' THEN coalesce(roles.role_urn, named_grantees.name)
        WHEN 'USER' THEN coalesce(holders.urn, named_grantees.name)
        ELSE named_grantees.name END AS grantee,
    pairs.level,
    date_format(pairs.last, 'yyyy-MM-dd HH:mm') AS last,
    pairs.export
FROM pairs
JOIN {datasets} AS datasets USING (export, number)
LEFT JOIN {people} AS users ON users.member_key = pairs.person_key
LEFT JOIN {people} AS holders ON holders.member_key = pairs.grantee_key
LEFT JOIN {roles} AS roles ON roles.role = pairs.grantee_key
LEFT JOIN named_grantees USING (export, kind, grantee_key)
ORDER BY datasets.is_sensitive DESC, dataset, person, grantee, pairs.export
