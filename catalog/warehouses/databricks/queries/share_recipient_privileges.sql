-- The recipients of shares, who are outside of the account.
SELECT grantor, recipient_name, share_name, privilege_type
FROM system.information_schema.share_recipient_privileges
