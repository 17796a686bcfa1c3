"""A client that asks for what it is denied, and waits: AuthZEN's Access Request and Approval Profile.

    AUTHZSITE_URL=http://127.0.0.1:8000 AUTHZSITE_TOKEN=... python request_access.py jenny EDIT_ENTITY_TAGS \
        dashboard '(looker,sales.of_the_example)' 'Tags for the audit'

It is of the standard library alone. An approval opens nothing by itself: the evaluation at the end counts.
"""

import json
import os
import sys
import time
import urllib.request
import uuid
from typing import Any

HEADERS = {"Authorization": f"Bearer {os.environ['AUTHZSITE_TOKEN']}", "Content-Type": "application/json"}


def call(url: str, body: Any = None, **headers: str) -> tuple[Any, float]:
    """Return what a call answers, and after how many seconds to ask again."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, HEADERS | headers), timeout=30) as answer:
        return json.load(answer), float(answer.headers.get("Retry-After", 5))


def main(user: str, action: str, kind: str, name: str, why: str) -> None:
    """Evaluate, ask, poll, and evaluate again."""
    found, _ = call(f"{os.environ['AUTHZSITE_URL']}/.well-known/authzen-configuration")
    evaluation, subject = found["access_evaluation_endpoint"], {"type": "user", "id": user}
    question: Any = {"subject": subject, "action": {"name": action}, "resource": {"type": kind, "id": name}}
    answer, _ = call(evaluation, question)
    offer = answer["context"].get("access_request")
    if answer["decision"] or offer is None:
        sys.exit(f"decision: {answer['decision']}, nothing to ask for")
    denial = {"evaluation_id": answer["context"]["evaluation_id"], "expires_at": offer["expires_at"]}
    body = {**question, "denial": denial, "context": {"justification": why}}
    asked, wait = call(offer["endpoint"], body, **{"Idempotency-Key": str(uuid.uuid4())})
    while asked["task"]["status"] == "pending":
        print("pending", flush=True)
        time.sleep(wait)
        asked, wait = call(asked["task"]["status_endpoint"])
    print(asked["task"]["status"])
    question["context"] = {"approval": asked.get("result", {}).get("approval")}
    answer, _ = call(evaluation, question)
    while answer["context"].get("next_action") == "retry":
        time.sleep(answer["context"]["retry_after"])
        answer, _ = call(evaluation, question)
    print("decision:", answer["decision"])


if __name__ == "__main__":
    main(*sys.argv[1:])
