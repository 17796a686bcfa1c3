#!/bin/sh
# The API and AuthZEN with curl: AUTHZSITE_URL and AUTHZSITE_TOKEN say where and who.
set -eu
call() {
    path=$1
    shift
    curl -sS --fail-with-body -H "Authorization: Bearer $AUTHZSITE_TOKEN" -H 'Content-Type: application/json' "$AUTHZSITE_URL$path" "$@"
    echo
}

# May I manage policies?
call /api/v1/authorize -d '{"privilege": "MANAGE_POLICIES"}'

# The same for somebody else, in AuthZEN's words.
call /access/v1/evaluation -d '{"subject": {"type": "user", "id": "jenny"}, "action": {"name": "MANAGE_POLICIES"},
  "resource": {"type": "dataHubPolicy", "id": "7"}}'

# Who may?
call /api/v1/who -d '{"privilege": "MANAGE_POLICIES"}'

# A user and her token, and what became of it.
call /api/v1/users/ -d '{"username": "curl-example", "display_name": "Made with curl"}'
call /api/v1/users/urn%3Ali%3Acorpuser%3Acurl-example/ -X PATCH -d '{"title": "Example"}'
call /api/v1/users/urn%3Ali%3Acorpuser%3Acurl-example/ -X DELETE
