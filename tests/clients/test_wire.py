"""What only a real server shows: paths as they travel, large bodies, many writers at once."""

import http.client
import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, urlsplit

import pytest

PATHS = ["a/b//c", "a b+c", "100%", "%41", "%2F", "(x,y)", "é😀", "a?b#c;d", "./../x", "a'b\"c", "a\\b", "a&b=c"]


def ask(site, method, path, body=None, **headers):
    """Send a path exactly as it is written, and a body that is an iterator in chunks; answers (status, body)."""
    link = http.client.HTTPConnection(urlsplit(site.address).netloc, timeout=60)
    try:
        link.request(method, path, body, {"Authorization": f"Bearer {site.token}"} | headers)
        answer = link.getresponse()
        return answer.status, answer.read()
    finally:
        link.close()


def write(site, urn, aspect, value):
    one = {"entityUrn": urn, "aspectName": aspect, "changeType": "UPSERT", "aspect": {"value": json.dumps(value)}}
    status, answer = ask(site, "POST", "/aspects?action=ingestProposalBatch", json.dumps({"proposals": [one]}))
    assert status == 200, answer


@pytest.mark.parametrize("name", PATHS)
def test_a_urn_in_a_path_is_decoded_exactly_once(site, name):
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
    write(site, urn, "madeUp", {"name": name})
    for path in (quote(urn, safe=""), quote(urn, safe="/"), quote(urn, safe=":(),/!$&'*+;=@")):
        status, answer = ask(site, "GET", f"/entities/{path}")
        assert (status, json.loads(answer)["urn"]) == (200, urn), path
        status, answer = ask(site, "GET", f"/aspects/{path}?aspect=madeUp&version=0")
        assert status == 200, path
        assert name in json.loads(answer)["aspect"]["com.linkedin.unknown.MadeUp"]["name"]


def test_a_raw_urn_is_a_path_too(site):
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,db/schema//table,PROD)"
    write(site, urn, "madeUp", {})
    status, answer = ask(site, "GET", f"/entitiesV2/{urn}")
    assert (status, json.loads(answer)["urn"]) == (200, urn)


@pytest.mark.parametrize(
    "path", ["/entities/%FF", "/entities/urn%3Ali%3Atag%3A%00", "/entities/urn:li:tag:a%0Db", "/aspects/%25"]
)
def test_a_path_that_is_no_urn_is_bad_input(site, path):
    status, answer = ask(site, "GET", path)
    assert status == 400
    assert json.loads(answer)["message"]


def test_fifteen_mebibytes_and_no_more_than_sixteen(site):
    write(site, "urn:li:tag:large", "madeUp", {"text": "x" * (15 * 1024 * 1024)})
    status, answer = ask(site, "GET", "/aspects/urn:li:tag:large?aspect=madeUp")
    assert (status, len(answer) > 15 * 1024 * 1024) == (200, True)
    for size in (16 * 1024 * 1024 + 1, 17 * 1024 * 1024):
        status, answer = ask(site, "POST", "/aspects?action=ingestProposal", b" " * size)
        assert (status, json.loads(answer)["status"]) == (413, 413)
        assert "bytes" in json.loads(answer)["message"]


@pytest.mark.parametrize("pieces", [[b'{"proposal": ', b"{}}"], [b" " * 65_536] * 128], ids=["short", "long"])
def test_a_body_in_pieces_without_a_length_is_read_and_refused(site, pieces):
    status, answer = ask(site, "POST", "/aspects?action=ingestProposal", iter(pieces))
    assert (status, json.loads(answer)["status"]) == (411, 411)


def test_writers_at_once_lose_nothing(site):
    def send(number):
        for step in range(5):
            write(site, f"urn:li:tag:parallel{number}", "madeUp", {"step": step})
        return number

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(send, range(8))) == list(range(8))
    for number in range(8):
        status, answer = ask(site, "GET", f"/aspects/urn:li:tag:parallel{number}?aspect=madeUp&version=4")
        assert status == 200
        assert json.loads(answer)["aspect"] == {"com.linkedin.unknown.MadeUp": {"step": 3}}
