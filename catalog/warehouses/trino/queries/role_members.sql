-- Who has which role of the catalog, given by whom.
SELECT
    current_catalog AS role_catalog,
    member.role_name,
    member.grantor,
    member.grantor_type,
    member.grantee,
    member.grantee_type,
    member.is_grantable
FROM information_schema.role_authorization_descriptors AS member
