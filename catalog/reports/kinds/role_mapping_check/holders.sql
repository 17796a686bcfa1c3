-- Who holds which role, also through other roles and groups: people, groups, and roles themselves. `through` is what
-- somebody holds directly, '' for the role itself; who is in a group is known of groups of the catalog.
WITH held AS (
    SELECT export, kind, member_key AS holder_key, grantee AS holder, role, '' AS through FROM {members}
    UNION ALL
    SELECT members.export, kind, member_key, grantee, given, role_name
    FROM {members} AS members JOIN {inherited} AS inherited USING (export, role)
    UNION ALL
    SELECT export, 'ROLE', role, NULL, given, '' FROM {inherited}
),
everybody AS (
    SELECT * FROM held
    UNION ALL
    SELECT held.export, 'USER', members.member_key, members.member_key, held.role,
        if(held.through = '', held.holder, concat(held.holder, ', ', held.through))
    FROM held JOIN {group_members} AS members ON held.kind = 'GROUP' AND held.export = members.export
        AND held.holder_key = members.group_key
)
SELECT CASE everybody.kind
        WHEN 'ROLE' THEN coalesce(own.role_urn, own_name.role_name, holder_key)
        WHEN 'USER' THEN coalesce(people.urn, holder)
        ELSE holder END AS holder,
    coalesce(held_role.role_urn, role_name.role_name, everybody.role) AS role,
    everybody.kind,
    min(through) AS through,
    everybody.export
FROM everybody
LEFT JOIN {people} AS people ON everybody.kind = 'USER' AND people.member_key = holder_key
LEFT JOIN {roles} AS own ON everybody.kind = 'ROLE' AND own.role = holder_key
LEFT JOIN {existing} AS own_name ON everybody.kind = 'ROLE' AND own_name.export = everybody.export
    AND own_name.role = holder_key
LEFT JOIN {roles} AS held_role ON held_role.role = everybody.role
LEFT JOIN {existing} AS role_name ON role_name.export = everybody.export AND role_name.role = everybody.role
GROUP BY 1, 2, everybody.kind, everybody.export
ORDER BY holder, role, everybody.export
