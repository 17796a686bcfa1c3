-- Users in groups, which hold privileges as roles do.
SELECT
    crowd.groname,
    member.usename
FROM pg_group AS crowd
JOIN pg_user AS member ON member.usesysid = ANY(crowd.grolist)
