"""Background tasks: guardrails are judged."""

from typing import Any

from celery import shared_task

from policies.guardrails.services import guardrails


@shared_task(name="policies.judge_guardrails", ignore_result=True)
def judge_guardrails(**_: Any) -> int:
    """Judge every guardrail that is not off, and return how many are broken.

    Facts about entities and the passing of time are never refused: what they break is a finding after this.
    """
    return guardrails.refresh_statuses()
