-- The access to listed datasets: what the catalog declares, and what the source grants, side by side, for each grantee.
-- `declared_level` is 0 where the catalog declares access without a level. Sensitive datasets come first, so `place` is
-- that of the dataset among those that are listed.
WITH granted AS (
    SELECT export, number, kind, grantee_key, min(grantee) AS name, max(level) AS level,
        array_join(array_sort(collect_set(at)), '\n') AS through
    FROM {grants} JOIN {listed} USING (export, number)
    GROUP BY export, number, kind, grantee_key
),
declared AS (
    SELECT DISTINCT export, number, 'ROLE' AS kind, role AS grantee_key, coalesce(declared_level, 0) AS declared_level
    FROM {declared} JOIN {listed} USING (export, number) JOIN {roles} USING (role)
)
SELECT listed.urn AS dataset,
    CASE kind
        WHEN 'ROLE' THEN coalesce(roles.role_urn, granted.name)
        WHEN 'USER' THEN coalesce(people.urn, granted.name)
        ELSE granted.name END AS grantee,
    granted.through, granted.level, declared.declared_level, tags.tags, export, listed.place
FROM granted FULL JOIN declared USING (export, number, kind, grantee_key)
JOIN {listed} AS listed USING (export, number)
LEFT JOIN {roles} AS roles ON kind = 'ROLE' AND roles.role = grantee_key
LEFT JOIN {people} AS people ON kind = 'USER' AND people.member_key = grantee_key
LEFT JOIN {tags} AS tags USING (number)
ORDER BY listed.place, grantee, export
