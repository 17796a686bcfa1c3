"""What every answer carries, and what no request may bring."""

import pytest
from django.conf import settings


def test_every_answer_carries_the_security_headers(client):
    headers = client.get("/health/live").headers
    assert "script-src 'self';" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize("path", ["/health/live", "/nowhere"])
def test_a_body_above_the_limit_is_413_before_anything_reads_it(client, path):
    body = b" " * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    answer = client.post(path, data=body, content_type="application/json")
    assert answer.status_code == 413
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["status"] == 413


@pytest.mark.parametrize("length", ["", "many", "-1", "٣", "1e9"])
def test_a_length_that_is_no_number_is_no_error_of_ours(client, length):
    assert client.get("/health/live", CONTENT_LENGTH=length).status_code == 200
