"""The doors for programs: route, call, what anonymous, outsider, owner, steward and root get, and what is sent ({}).

Words in capitals stand for URNs and ids, see NAMES. An address without a name stands under its path. What is empty or
names nothing is refused after the guard, so such a call shows who gets past it.
"""

from urllib.parse import quote

from tests import finished
from tests.web.catalog.conftest import ORDERS, READER

NAMES = {
    # A dataset that the owner owns, and an external role.
    "ORDERS": quote(ORDERS, safe=""),
    "READER": quote(READER, safe=""),
    "ADA": "urn:li:corpuser:ada",
    "NOBODY": "urn:li:corpuser:nobody",
    "NO_GROUP": "urn:li:corpGroup:none",
    "NO_ROLE": "urn:li:dataHubRole:none",
    "NO_REQUEST": "urn:li:accessRequest:none",
    "NO_POLICY": "urn:li:dataHubPolicy:none",
    "MAY_READ": "urn:li:dataHubRole:Reader",
    "READY_RUN": str(finished.READY),
    "NO_RUN": str(finished.NONE),
    "SUBJECT": '"subject": {"type": "user", "id": "ada"}',
    "SOMEBODY": '"subject": {"type": "user"}',
    "RECORDS": '"resource": {"type": "record"}',
    "RECORD": '"resource": {"type": "record", "id": "1"}',
    "ACTION": '"action": {"name": "fly"}',
    "NO_ID": "00000000-0000-0000-0000-000000000000",
    "NO_TRACE": "0" * 32,
}

DOORS = """
health | GET /health | 200 200 200 200 200
health-live | GET /health/live | 200 200 200 200 200
health-ready | GET /health/ready | 200 200 200 200 200
metrics | GET /metrics | 200 200 200 200 200
api-document | GET /api/v1/openapi.json | 200 200 200 200 200
api-authorize | POST /api/v1/authorize | 401 403 403 200 200 | {"privilege": "EDIT_ENTITY_TAGS", "actor": "ADA"}
api-authorize-other | POST /api/v1/authorize/ | 401 200 200 200 200 | {"privilege": "EDIT_ENTITY_TAGS"}
api-authorize-batch | POST /api/v1/authorize/batch | 401 200 200 200 200 | {"questions": []}
api-authorize-batch-other | POST /api/v1/authorize/batch/ | 401 200 200 200 200 | {"questions": []}
api-granted-privileges | POST /api/v1/granted-privileges | 401 403 403 200 200 | {"actor": "ADA"}
api-granted-privileges-other | POST /api/v1/granted-privileges/ | 401 200 200 200 200
api-who | POST /api/v1/who | 401 403 403 200 200 | {"privilege": "X"}
api-who-other | POST /api/v1/who/ | 401 403 403 200 200 | {"privilege": "X"}
api-policies | GET /api/v1/policies/ | 401 403 403 403 200
api-policies | POST /api/v1/policies/ | 401 403 403 403 400 | {"document": {}}
api-policies-other | POST /api/v1/policies | 401 403 403 403 400
api-policies-validate | POST /api/v1/policies/validate/ | 401 403 403 403 200
api-policies-validate-other | POST /api/v1/policies/validate | 401 403 403 403 200
api-policy-restore | POST /api/v1/policies/NO_POLICY/versions/1/restore/ | 401 403 403 403 404
api-policy-restore-other | POST /api/v1/policies/NO_POLICY/versions/1/restore | 401 403 403 403 404
api-policy-version | GET /api/v1/policies/NO_POLICY/versions/1/ | 401 403 403 403 404
api-policy-versions | GET /api/v1/policies/NO_POLICY/versions/ | 401 403 403 403 404
api-policy | GET /api/v1/policies/NO_POLICY/ | 401 403 403 403 404
api-policy | PUT /api/v1/policies/NO_POLICY/ | 401 403 403 403 400
api-policy | PATCH /api/v1/policies/NO_POLICY/ | 401 403 403 403 400
api-policy | DELETE /api/v1/policies/NO_POLICY/ | 401 403 403 403 404
api-preview | POST /api/v1/preview | 401 403 403 403 400 | {"changes": [{"delete_policy": "NO_POLICY"}]}
api-preview-other | POST /api/v1/preview/ | 401 400 400 400 400
api-guardrails | GET /api/v1/guardrails/ | 401 403 403 403 200
api-guardrails | POST /api/v1/guardrails/ | 401 403 403 403 400 | {"rule": {}}
api-guardrails-other | POST /api/v1/guardrails | 401 403 403 403 400
api-guardrail | GET /api/v1/guardrails/urn:li:guardrail:none/ | 401 403 403 403 404
api-guardrail | PUT /api/v1/guardrails/urn:li:guardrail:none/ | 401 403 403 403 400
api-guardrail | PATCH /api/v1/guardrails/urn:li:guardrail:none/ | 401 403 403 403 404
api-guardrail | DELETE /api/v1/guardrails/urn:li:guardrail:none/ | 401 403 403 403 404
api-bundles-plan | POST /api/v1/bundles/plan | 401 403 403 403 200 | {"files": {}}
api-bundles-plan-other | POST /api/v1/bundles/plan/ | 401 403 403 403 400
api-bundles-apply | POST /api/v1/bundles/apply | 401 403 403 403 200 | {"files": {}}
api-bundles-apply-other | POST /api/v1/bundles/apply/ | 401 403 403 403 400
api-bundles-test | POST /api/v1/bundles/test | 401 403 403 403 400 | {"files": {}}
api-bundles-test-other | POST /api/v1/bundles/test/ | 401 403 403 403 400
api-bundles-export | GET /api/v1/bundles/export | 401 403 403 403 200
api-privileges | GET /api/v1/privileges/ | 401 200 200 200 200
api-users | GET /api/v1/users/ | 401 403 403 403 200
api-users | POST /api/v1/users/ | 401 403 403 403 201 | {"username": "zoe"}
api-users-other | POST /api/v1/users | 401 403 403 403 201 | {"username": "zed"}
api-user | GET /api/v1/users/NOBODY/ | 401 403 403 403 404
api-user | PUT /api/v1/users/NOBODY/ | 401 403 403 403 404 | {"username": "nobody"}
api-user | PATCH /api/v1/users/ADA/ | 401 403 403 403 200 | {"display_name": "Ada"}
api-user | DELETE /api/v1/users/NOBODY/ | 401 403 403 403 404
api-groups | GET /api/v1/groups/ | 401 403 403 403 200
api-groups | POST /api/v1/groups/ | 401 403 403 403 201 | {"name": "New"}
api-groups-other | POST /api/v1/groups | 401 403 403 403 201 | {"name": "New"}
api-group-members | GET /api/v1/groups/NO_GROUP/members/ | 401 403 403 403 404
api-group-members | POST /api/v1/groups/NO_GROUP/members/ | 401 403 403 403 404 | {"members": ["ADA"]}
api-group-members | DELETE /api/v1/groups/NO_GROUP/members/ | 401 403 403 403 404 | {"members": ["ADA"]}
api-group-members-other | POST /api/v1/groups/NO_GROUP/members | 401 403 403 403 404 | {"members": ["ADA"]}
api-group | GET /api/v1/groups/NO_GROUP/ | 401 403 403 403 404
api-group | PUT /api/v1/groups/NO_GROUP/ | 401 403 403 403 404 | {"name": "None"}
api-group | PATCH /api/v1/groups/urn:li:corpGroup:analysts/ | 401 403 403 403 200 | {"description": "New"}
api-group | DELETE /api/v1/groups/NO_GROUP/ | 401 403 403 403 404
api-roles | GET /api/v1/roles/ | 401 200 200 200 200
api-roles | POST /api/v1/roles/ | 401 403 403 403 201 | {"name": "New"}
api-roles-other | POST /api/v1/roles | 401 403 403 403 201 | {"name": "New"}
api-roles-assign | POST /api/v1/roles/assign/ | 401 403 403 403 200 | {"role": "MAY_READ", "actors": ["ADA"]}
api-roles-assign-other | POST /api/v1/roles/assign | 401 403 403 403 200 | {"role": "MAY_READ", "actors": ["ADA"]}
api-role-actor | DELETE /api/v1/roles/NO_ROLE/actors/NOBODY/ | 401 403 403 403 404
api-role-actors | GET /api/v1/roles/NO_ROLE/actors/ | 401 403 403 403 404
api-role-actors | POST /api/v1/roles/NO_ROLE/actors/ | 401 403 403 403 404 | {"actors": ["ADA"]}
api-role-actors-other | POST /api/v1/roles/NO_ROLE/actors | 401 403 403 403 404 | {"actors": ["ADA"]}
api-role | GET /api/v1/roles/NO_ROLE/ | 401 404 404 404 404
api-role | PUT /api/v1/roles/NO_ROLE/ | 401 404 404 404 404 | {"name": "None"}
api-role | PATCH /api/v1/roles/urn:li:dataHubRole:Reader/ | 401 403 403 403 403 | {"description": "New"}
api-role | DELETE /api/v1/roles/NO_ROLE/ | 401 403 403 403 404
api-tokens | GET /api/v1/tokens/ | 401 200 200 200 200
api-tokens | POST /api/v1/tokens/ | 401 201 201 201 201 | {"name": "mine"}
api-tokens-other | POST /api/v1/tokens | 401 403 403 403 201 | {"name": "mine", "actor": "ADA"}
api-token | DELETE /api/v1/tokens/NO_ID/ | 401 403 403 403 404
api-service-accounts | GET /api/v1/service-accounts/ | 401 403 403 403 200
api-service-accounts | POST /api/v1/service-accounts/ | 401 403 403 403 400
api-service-accounts-other | POST /api/v1/service-accounts | 401 403 403 403 400
api-service-account-tokens | GET /api/v1/service-accounts/NOBODY/tokens/ | 401 403 403 403 404
api-service-account-tokens | POST /api/v1/service-accounts/NOBODY/tokens/ | 401 403 403 403 404
api-service-account-tokens-other | POST /api/v1/service-accounts/NOBODY/tokens | 401 403 403 403 404
api-service-account | GET /api/v1/service-accounts/NOBODY/ | 401 403 403 403 404
api-service-account | PATCH /api/v1/service-accounts/NOBODY/ | 401 403 403 403 404
api-service-account | DELETE /api/v1/service-accounts/NOBODY/ | 401 403 403 403 404
api-invite-tokens | GET /api/v1/invite-tokens/ | 401 403 403 403 200
api-invite-tokens | POST /api/v1/invite-tokens/ | 401 403 403 403 201
api-invite-tokens-other | POST /api/v1/invite-tokens | 401 403 403 403 201
api-invite-tokens-accept | POST /api/v1/invite-tokens/accept/ | 401 400 400 400 400
api-invite-tokens-accept-other | POST /api/v1/invite-tokens/accept | 401 400 400 400 400
api-invite-token | DELETE /api/v1/invite-tokens/NO_ID/ | 401 403 403 403 404
api-audit | GET /api/v1/audit/ | 401 403 403 403 200
api-audit | GET /api/v1/audit/?of=decisions | 401 403 403 403 200
api-events | GET /api/v1/events?types=role.*&limit=1 | 401 403 403 403 200
api-requests | GET /api/v1/requests/ | 401 200 200 200 200
api-requests | POST /api/v1/requests/ | 401 400 400 400 400
api-requests-other | POST /api/v1/requests | 401 400 400 400 400
api-requests-preview | POST /api/v1/requests/preview/ | 401 400 400 400 400
api-requests-preview-other | POST /api/v1/requests/preview | 401 400 400 400 400
api-request | GET /api/v1/requests/NO_REQUEST/ | 401 404 404 404 404
api-request-approve | POST /api/v1/requests/NO_REQUEST/approve/ | 401 404 404 404 404 | {}
api-request-approve-other | POST /api/v1/requests/NO_REQUEST/approve | 401 404 404 404 404 | {}
api-request-deny | POST /api/v1/requests/NO_REQUEST/deny/ | 401 404 404 404 404 | {"note": "no"}
api-request-deny-other | POST /api/v1/requests/NO_REQUEST/deny | 401 404 404 404 404 | {"note": "no"}
api-request-withdraw | POST /api/v1/requests/NO_REQUEST/withdraw/ | 401 404 404 404 404 | {}
api-request-withdraw-other | POST /api/v1/requests/NO_REQUEST/withdraw | 401 404 404 404 404 | {}
api-request-comment | POST /api/v1/requests/NO_REQUEST/comment/ | 401 404 404 404 404 | {"text": "hm"}
api-request-comment-other | POST /api/v1/requests/NO_REQUEST/comment | 401 404 404 404 404 | {"text": "hm"}
api-request-hand-over | POST /api/v1/requests/NO_REQUEST/hand_over/ | 401 404 404 404 404 | {"to": ["ADA"], "note": "n"}
api-request-hand-over-other | POST /api/v1/requests/NO_REQUEST/hand_over | 401 400 400 400 400 | {"to": [], "note": "n"}
api-request-renew | POST /api/v1/requests/NO_REQUEST/renew/ | 401 404 404 404 404 | {"reason": "r"}
api-request-renew-other | POST /api/v1/requests/NO_REQUEST/renew | 401 404 404 404 404 | {"reason": "r"}
api-approval-rules | GET /api/v1/approval-rules/ | 401 403 403 403 200
api-approval-rules | POST /api/v1/approval-rules/ | 401 403 403 403 400
api-approval-rules-other | POST /api/v1/approval-rules | 401 403 403 403 400
api-approval-rule | GET /api/v1/approval-rules/urn:li:approvalRule:none/ | 401 403 403 403 404
api-approval-rule | PUT /api/v1/approval-rules/urn:li:approvalRule:none/ | 401 403 403 403 400
api-approval-rule | PATCH /api/v1/approval-rules/urn:li:approvalRule:none/ | 401 403 403 403 404
api-approval-rule | DELETE /api/v1/approval-rules/urn:li:approvalRule:none/ | 401 403 403 403 404
api-notifications | GET /api/v1/notifications/ | 401 200 200 200 200
api-notification | PATCH /api/v1/notifications/1/ | 401 404 404 404 404 | {"read": true}
api-notifications-read-all | POST /api/v1/notifications/read-all/ | 401 200 200 200 200
api-notifications-read-all-other | POST /api/v1/notifications/read-all | 401 200 200 200 200
api-status | GET /api/v1/status/ | 401 200 200 200 200
api-what | POST /api/v1/what | 401 403 403 200 200 | {"privilege": "X", "actor": "ADA"}
api-what-other | POST /api/v1/what/ | 401 200 200 200 200 | {"privilege": "X"}
api-render | POST /api/v1/render | 401 400 400 400 400
api-render-other | POST /api/v1/render/ | 401 400 400 400 400
api-operations | POST /api/v1/operations | 401 400 400 400 400
api-operations-other | POST /api/v1/operations/ | 401 400 400 400 400
api-grants | GET /api/v1/grants | 401 200 200 200 200
api-grants | POST /api/v1/grants | 401 400 400 400 400
api-grants | DELETE /api/v1/grants | 401 400 400 400 400
api-grants-other | POST /api/v1/grants/ | 401 400 400 400 400
api-entities | GET /api/v1/entities/ | 401 200 200 200 200
api-entities | POST /api/v1/entities/ | 401 400 400 400 400
api-entities-other | POST /api/v1/entities | 401 400 400 400 400
api-entity-access | GET /api/v1/entities/ORDERS/access/ | 401 200 200 200 200
api-entity | GET /api/v1/entities/ORDERS/ | 401 200 200 200 200
api-entity | PATCH /api/v1/entities/ORDERS/ | 401 403 200 403 200
api-external-roles | GET /api/v1/external-roles/ | 401 200 200 200 200
api-external-roles | POST /api/v1/external-roles/ | 401 400 400 400 400 | {"name": "New", "id": "new_role"}
api-external-roles-other | POST /api/v1/external-roles | 401 400 400 400 400 | {"name": "New", "id": "newer_role"}
api-external-role | GET /api/v1/external-roles/READER/ | 401 200 200 200 200
api-external-role | PUT /api/v1/external-roles/READER/ | 401 400 400 400 400 | {"name": "New"}
api-external-role | PATCH /api/v1/external-roles/READER/ | 401 403 403 403 200
api-connections | GET /api/v1/connections/ | 401 403 403 403 200
api-connection | GET /api/v1/connections/none/ | 401 403 403 403 404
api-connection-snapshots | GET /api/v1/connections/none/snapshots/ | 401 403 403 403 404
api-connection-snapshots | POST /api/v1/connections/none/snapshots/ | 401 403 403 403 404
api-connection-snapshots-other | POST /api/v1/connections/none/snapshots | 401 403 403 403 404
api-connection-changes | GET /api/v1/connections/none/changes/ | 401 403 403 403 404
api-connection-changes | POST /api/v1/connections/none/changes/ | 401 403 403 403 404
api-connection-changes-other | POST /api/v1/connections/none/changes | 401 403 403 403 404
api-connection-change | GET /api/v1/connections/none/changes/NO_ID/ | 401 403 403 403 404
api-connection-change | DELETE /api/v1/connections/none/changes/NO_ID/ | 401 403 403 403 404
api-connection-change-confirm | POST /api/v1/connections/none/changes/NO_ID/confirm/ | 401 403 403 403 404
api-connection-change-confirm-other | POST /api/v1/connections/none/changes/NO_ID/confirm | 401 403 403 403 404
api-reports | GET /api/v1/reports/ | 401 403 403 403 200
api-reports | POST /api/v1/reports/ | 401 403 403 403 409 | {"kind": "effective_access"}
api-reports-other | POST /api/v1/reports | 401 403 403 403 409 | {"kind": "effective_access", "parameters": {}}
api-report-kinds | GET /api/v1/reports/kinds/ | 401 403 403 403 200
api-report | GET /api/v1/reports/READY_RUN/ | 401 403 403 403 200
api-report | GET /api/v1/reports/NO_RUN/ | 401 403 403 403 404
api-report-cancel | POST /api/v1/reports/READY_RUN/cancel/ | 401 403 403 403 409
api-report-cancel-other | POST /api/v1/reports/NO_RUN/cancel | 401 403 403 403 404
api-report-script | GET /api/v1/reports/READY_RUN/script/?export=none | 401 403 403 403 404
api-report-table | GET /api/v1/reports/READY_RUN/tables/people/ | 401 403 403 403 200
api-report-csv | GET /api/v1/reports/READY_RUN/tables/people/csv/ | 401 403 403 403 200
api-report-json | GET /api/v1/reports/READY_RUN/tables/people/json/ | 401 403 403 403 200
api-report-differences | GET /api/v1/reports/READY_RUN/tables/people/differences/ | 401 403 403 403 400
api-findings | GET /api/v1/reports/findings/ | 401 403 403 403 200
api-findings | PATCH /api/v1/reports/findings/ | 401 403 403 403 200 | {"ids": [1], "state": "CLOSED"}
api-finding | GET /api/v1/reports/findings/1/ | 401 403 403 403 404
api-finding | PATCH /api/v1/reports/findings/1/ | 401 403 403 403 400
authzen-evaluation | POST /access/v1/evaluation | 401 403 403 200 200 | {SUBJECT, ACTION, RECORD}
authzen-evaluations | POST /access/v1/evaluations | 401 400 400 400 400
authzen-access-requests | POST /access/v1/requests | 401 400 400 400 400
authzen-access-request-schema | GET /access/v1/requests/schema | 401 200 200 200 200
authzen-access-request-task | GET /access/v1/requests/NO_ID | 401 404 404 404 404
authzen-access-request-cancel | POST /access/v1/requests/NO_ID/cancel | 401 404 404 404 404
authzen-search-subject | POST /access/v1/search/subject | 401 403 403 200 200 | {SOMEBODY, ACTION, RECORD}
authzen-search-resource | POST /access/v1/search/resource | 401 403 403 200 200 | {SUBJECT, ACTION, RECORDS}
authzen-search-action | POST /access/v1/search/action | 401 403 403 200 200 | {SUBJECT, RECORD}
authzen-configuration | GET /.well-known/authzen-configuration | 200 200 200 200 200
gms-config | GET /config | 200 200 200 200 200
gms-aspects | POST /aspects | 401 400 400 400 400
aspects | POST /aspects/ | 401 400 400 400 400
gms-aspect | GET /aspects/ORDERS?aspect=ownership | 401 200 200 200 200
gms-entities | POST /entities | 401 400 400 400 400
entities | POST /entities/ | 401 400 400 400 400
gms-entity | GET /entities/urn:li:corpuser:olga | 401 200 200 200 200
gms-entity-v2 | GET /entitiesV2/ORDERS | 401 200 200 200 200
gms-log-in | POST /logIn | 400 400 400 400 400
logIn | POST /logIn/ | 401 401 401 401 401 | {"username": "nobody", "password": "x"}
gms-sign-up | POST /signUp | 400 400 400 400 400
signUp | POST /signUp/ | 400 400 400 400 400
gms-auth-sign-up | POST /auth/signUp | 400 400 400 400 400
auth/signUp | POST /auth/signUp/ | 400 400 400 400 400
graphql | POST /api/graphql | 401 200 200 200 200
graphql-v2 | POST /api/v2/graphql | 401 200 200 200 200
gms-runs | POST /runs | 401 400 400 400 400
runs | POST /runs/?action=list | 401 200 200 200 200
openapi-entities | GET /openapi/v3/entity/dataset | 401 200 200 200 200
openapi-entities | POST /openapi/v3/entity/dataset | 401 400 400 400 400
openapi-entities | PATCH /openapi/v3/entity/dataset | 401 400 400 400 400
openapi-batch-get | POST /openapi/v3/entity/dataset/batchGet | 401 400 400 400 400
openapi-scroll | POST /openapi/v3/entity/scroll | 401 200 200 200 200
openapi-entity | GET /openapi/v3/entity/dataset/ORDERS | 401 200 200 200 200
openapi-entity | POST /openapi/v3/entity/dataset/ORDERS/status | 401 403 202 403 202 | {"value": {"removed": false}}
openapi-entity | PATCH /openapi/v3/entity/dataset/ORDERS/status | 401 400 400 400 400
openapi-entity | DELETE /openapi/v3/entity/role/urn:li:role:none | 401 403 403 403 200
openapi-relationships | GET /openapi/relationships/v1/?urn=ORDERS&direction=OUTGOING | 401 200 200 200 200
openapi-logical-parent | POST /openapi/v3/logical/ORDERS/relationship/physicalInstanceOf/ORDERS | 401 403 200 403 200
openapi-logical-parent-removal | DELETE /openapi/v3/logical/ORDERS/relationship/physicalInstanceOf | 401 403 200 403 200
openapi-trace | POST /openapi/v1/trace/write/NO_TRACE | 401 200 200 200 200
openapi/v1/trace/write/<str:trace> | POST /openapi/v1/trace/write/NO_TRACE/ | 401 200 200 200 200
api/graphql | POST /api/graphql/ | 401 200 200 200 200
api/v2/graphql | POST /api/v2/graphql/ | 401 200 200 200 200
scim | GET /scim/v2/Users | 401 403 403 403 200
scim | POST /scim/v2/Users | 401 403 403 403 400
api-entity | DELETE /api/v1/entities/ORDERS/ | 401 403 403 403 204
api-external-role | DELETE /api/v1/external-roles/READER/ | 401 403 403 403 204
"""
