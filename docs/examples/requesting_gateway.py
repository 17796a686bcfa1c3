"""A gateway that turns a refusal into a request, and goes on when it is approved. It extends gateway.py beside it.

    AUTHZSITE_URL=http://127.0.0.1:8000 AUTHZSITE_TOKEN=... python requesting_gateway.py 9000 http://127.0.0.1:9100

A call that is refused is answered 403, with `requestable: true` if its user may ask. The same call with the header
`X-Reason` asks: it is answered 202 until somebody has decided, and passed on once the decision point allows it.
Each call is evaluated; an approval opens nothing by itself. Tasks are remembered so that their approvals are known: a
gateway that was started anew asks once more, and is told which task there is.
"""

import json
import sys
import urllib.error
import urllib.request
from typing import Any

from gateway import Gateway, Pdp, main

#: User, method and path → the address of their task.
TASKS: dict[tuple[str, str, str], str] = {}


class RequestingPdp(Pdp):
    """A decision point that can be asked for what it denies."""

    def settle(self, user: str, method: str, path: str, reason: str, request_id: str) -> tuple[int, Any]:
        """Return 200 if the call may pass, 202 while somebody decides, else a refusal, and what is said of it."""
        key = (user, method, path)
        question: dict[str, Any] = {
            "subject": {"type": "user", "id": user},
            "action": {"name": method},
            "resource": {"type": "route", "id": path},
        }
        status, context = self._evaluate(question, self._load_task(key), request_id)
        if status == 403 and reason and "access_request" in context:
            made_status, made = self._request(question, context, reason)
            if "task" not in made:
                return made_status, made
            TASKS[key] = made["task"]["status_endpoint"]
            status, context = self._evaluate(question, self._load_task(key), request_id)
        if status == 403:
            said = {"requestable": "access_request" in context, "reason": context["reason"]}
            return status, {**said, "request_id": request_id}
        return status, {"status": "pending"}

    def _evaluate(self, question: Any, task: Any, request_id: str) -> tuple[int, Any]:
        """Return 200, 202 or 403, and the context of the answer."""
        approval = task.get("result", {}).get("approval")
        asked = {**question, "context": {"approval": approval}} if approval else question
        status, answer = self._call(self.endpoint, asked, {"X-Request-ID": request_id})
        if status != 200:
            raise OSError(f"The evaluation was answered {status}.")
        if answer["decision"] is True:
            return 200, answer["context"]
        is_pending = task.get("task", {}).get("status") == "pending"
        is_unwritten = answer["context"].get("next_action") == "retry"
        return 202 if is_pending or is_unwritten else 403, answer["context"]

    def _request(self, question: Any, context: Any, reason: str) -> tuple[int, Any]:
        """Ask for what was denied; a refusal has no `task`, unless there is one already."""
        offer = context["access_request"]
        denial = {"evaluation_id": context["evaluation_id"], "expires_at": offer["expires_at"]}
        return self._call(offer["endpoint"], {**question, "denial": denial, "context": {"justification": reason}}, {})

    def _load_task(self, key: tuple[str, str, str]) -> Any:
        """Return the task of a call, nothing where there is none or its handle is no longer valid."""
        if key not in TASKS:
            return {}
        status, task = self._call(TASKS[key], None, {})
        if status == 200:
            return task
        del TASKS[key]
        return {}

    def _call(self, url: str, body: Any, headers: dict[str, str]) -> tuple[int, Any]:
        """Return status and body, of a refusal too; raises OSError where nobody answers."""
        data = None if body is None else json.dumps(body).encode()
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, data, self.headers | headers), timeout=30
            ) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            if error.headers.get_content_type() != "application/problem+json":
                raise
            return error.code, json.load(error)


class RequestingGateway(Gateway):
    """Each call: may it pass, and if not, does its user ask for it?"""

    pdp: RequestingPdp

    def judge(self, user: str, path: str, request_id: str) -> tuple[int, bytes]:
        """Return 200 if the call may pass, else the answer to it; raises OSError where nobody can say."""
        reason = self.headers.get("X-Reason", "")
        status, said = self.pdp.settle(user, self.command, path, reason, request_id)
        return status, json.dumps(said).encode() + b"\n"


if __name__ == "__main__":
    main(*sys.argv[1:], pdp=RequestingPdp, gateway=RequestingGateway)
