-- Who is a member of which role, given by whom. Since PostgreSQL 16 each membership says whether its privileges are
-- inherited, and whether the member may become the role, and ends with the grantor's own; before, the first is said of the
-- member as a whole.
SELECT
    role.rolname AS role_name,
    member.rolname AS member_name,
    pg_get_userbyid(membership.grantor) AS grantor_name,
    membership.admin_option AS has_admin_option,
    coalesce((to_jsonb(membership) ->> 'inherit_option')::boolean, member.rolinherit) AS inherits,
    coalesce((to_jsonb(membership) ->> 'set_option')::boolean, true) AS can_set_role,
    to_jsonb(membership) ? 'set_option' AS depends_on_grantor
FROM pg_auth_members AS membership
JOIN pg_roles AS role ON role.oid = membership.roleid
JOIN pg_roles AS member ON member.oid = membership.member
