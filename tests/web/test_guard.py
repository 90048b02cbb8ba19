"""Attacks on the door: other hosts, other pages, no token, foreign forms, bodies too large."""

from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from sfumato.web.guard import LARGEST_FORM, POLICY, Door
from tests.web.conftest import HERE, PORT, Visitor

PAGES = ("/", "/data", "/policy", "/release", "/decide", "/adversaries/realistic", "/errand")
SCRIPTS = ("/static/workbench.js", "/static/report/draw.js", "/static/plotly.min.js")


def test_the_address_lets_one_browser_in_once(stranger: TestClient, door: Door) -> None:
    address = door.address
    entered = stranger.get(address)
    assert entered.status_code == 200
    (cookie,) = entered.headers.get_list("set-cookie")
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {
        "httponly",
        "path=/",
        "samesite=strict",
    }
    assert stranger.get("/data").status_code == 200
    assert stranger.get(address).status_code == 200  # the same browser, by its cookie
    stranger.cookies.clear()
    again = stranger.get(address)
    assert again.status_code == 403
    assert "was used" in again.text
    assert "sfumato serve" in again.text  # how to get in again
    assert "set-cookie" not in again.headers
    assert stranger.get("/data").status_code == 403
    assert "token" not in door.address


@pytest.mark.parametrize("path", [*PAGES, *SCRIPTS, "/nowhere"])
def test_without_the_token_nothing_is_shown(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "sfumato serve" in answer.text
    assert "csrf" not in answer.text


@pytest.mark.parametrize(
    "beside",
    ['prefs={"a": 1}', "a[b]=1", "a=b c", "flag", "path=/x", "secure", "a=\xe9", "a=1; a=2", ""],
)
def test_cookies_of_other_servers_lock_nobody_out(visitor: Visitor, beside: str) -> None:
    (own,) = (f"{name}={value}" for name, value in visitor.client.cookies.items())
    tossed = f"{visitor.door.cookie}=theirs"
    visitor.client.cookies.clear()
    for cookie in (f"{beside}; {own}", f"{own}; {beside}", f"{tossed}; {own}; {tossed}"):
        headers = {"Cookie": cookie.encode("latin-1")}
        assert visitor.get("/data", headers=headers).status_code == 200
    for cookie in (beside, tossed, own[:-1], own.replace("=", "= x")):
        headers = {"Cookie": cookie.encode("latin-1")}
        assert visitor.get("/data", headers=headers).status_code == 403


@pytest.mark.parametrize("token", ["", "x", "x" * 43, "%00", "é"])
def test_a_wrong_token_opens_nothing_and_uses_nothing_up(
    stranger: TestClient, door: Door, token: str
) -> None:
    assert stranger.get("/", params={"token": token}).status_code == 403
    assert stranger.get(door.address).status_code == 200


def test_a_token_that_the_owner_left_lets_in_once(visitor: Visitor) -> None:
    visitor.door.left = visitor.bench.project.admits
    token = visitor.bench.project.leave_token()
    other = visitor.client
    other.cookies.clear()
    assert other.get("/", params={"token": "x" * len(token)}).status_code == 403
    assert other.get("/", params={"token": token}).status_code == 200
    assert other.get("/data").status_code == 200
    other.cookies.clear()
    assert other.get("/", params={"token": token}).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.evil.example:{PORT}",
        f"localhost.evil.example:{PORT}",
        f"0.0.0.0:{PORT}",
        f"[::1]:{PORT}",
        f"127.1:{PORT}",
        "",
    ],
)
def test_another_host_is_not_ours(visitor: Visitor, host: str) -> None:
    """DNS rebinding: a name of the attacker's that leads to this machine."""
    for path in PAGES:
        assert visitor.get(path, headers={"Host": host}).status_code == 421
    assert visitor.post("/errand/cancel", headers={"Host": host}).status_code == 421


def test_this_machine_has_two_names(visitor: Visitor) -> None:
    for host in (f"127.0.0.1:{PORT}", f"LOCALHOST:{PORT}"):
        assert visitor.get("/data", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://127.0.0.1:8123",
        f"http://127.0.0.1:{PORT + 1}",
        f"http://localhost:{PORT}",
        "null",
        "",
        f"{HERE}.evil.example",
    ],
)
def test_another_origin_may_not_ask(visitor: Visitor, origin: str) -> None:
    assert visitor.post("/errand/cancel", headers={"Origin": origin}).status_code == 403
    assert visitor.get("/data", headers={"Origin": origin}).status_code == 403


def test_our_own_origin_may(visitor: Visitor) -> None:
    assert visitor.post("/errand/cancel", headers={"Origin": HERE}).status_code == 303


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_may_not_lead_here(visitor: Visitor, site: str) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert visitor.get("/data", headers=headers).status_code == 403
    assert visitor.post("/errand/cancel", headers=headers).status_code == 403


@pytest.mark.parametrize("word", [None, "", "wrong", "é"])
def test_a_form_from_another_site_changes_nothing(visitor: Visitor, word: str | None) -> None:
    fields = {"back": "/data"} if word is None else {"csrf": word}
    for path in ("/errand/cancel", "/data/upload"):
        answer = visitor.client.post(path, data=fields, follow_redirects=False)
        assert answer.status_code == 403, path
    plain = visitor.client.post(
        "/errand/cancel", content="csrf=" + visitor.csrf, headers={"Content-Type": "text/plain"}
    )
    assert plain.status_code == 403  # what a form can send without asking first
    header = {"X-CSRF": "wrong"}
    assert visitor.client.post("/errand/cancel", headers=header).status_code == 403


def test_the_word_of_another_session_is_not_taken(visitor: Visitor, door: Door) -> None:
    first = visitor.csrf
    door._token = "another"
    visitor.client.cookies.clear()
    assert visitor.client.get("/", params={"token": "another"}).status_code == 200
    answer = visitor.client.post("/errand/cancel", data={"csrf": first}, follow_redirects=False)
    assert answer.status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_ways_to_ask_are_refused(visitor: Visitor, method: str) -> None:
    answer = visitor.client.request(method, "/data", headers={"X-CSRF": visitor.csrf})
    assert answer.status_code == 405


def test_reading_changes_nothing(visitor: Visitor) -> None:
    assert visitor.get("/errand/cancel").status_code == 405
    assert visitor.get("/data/upload").status_code in (404, 405)


def test_every_answer_tells_browsers_what_they_may_do(visitor: Visitor) -> None:
    for path in (*PAGES, *SCRIPTS, "/nowhere", "/static/", "/static/nothing.js"):
        headers = visitor.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers
        if path not in SCRIPTS:
            assert headers["cache-control"] == "no-store"
    assert "unsafe-eval" not in POLICY
    assert "script-src 'self';" in POLICY
    assert "frame-ancestors 'none'" in POLICY


def test_pages_hold_no_script_and_no_handler(visitor: Visitor) -> None:
    for path in PAGES:
        text = visitor.client.get(path).text
        assert text.count("<script") == text.count('<script src="/static/')
        assert " onclick" not in text
        assert "javascript:" not in text


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e%2f%2e%2e%2ferrors.py",
        "/static//etc/passwd",
        "/static/..\\server.py",
        "/static/report/../page.py",
        "/static/report/document.html",
        "/static/",
        "/static/report/",
        "/sfumato-project/project.json",
        "/..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_path_leads_out_of_what_is_served(visitor: Visitor, path: str) -> None:
    answer = visitor.client.get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text
    assert "root:" not in answer.text


def test_a_form_is_limited(visitor: Visitor) -> None:
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    large = b"csrf=" + visitor.csrf.encode() + b"&x=" + b"x" * LARGEST_FORM
    answer = visitor.client.post("/errand/cancel", content=large, headers=kind)
    assert answer.status_code == 413

    def unending():
        for _ in range(LARGEST_FORM // (1 << 20) + 2):
            yield b"x" * (1 << 20)

    streamed = visitor.client.post("/errand/cancel", content=unending(), headers=kind)
    assert streamed.status_code == 413
    lying = {**kind, "Content-Length": "99999999999999999999"}
    assert visitor.client.post("/errand/cancel", content=b"x", headers=lying).status_code == 413


@pytest.mark.parametrize(
    "headers",
    [
        {"Cookie": "sfumato-8123=" + "x" * 10_000},
        {"Cookie": '"; ; =;,\x01'},
        {"Content-Type": "multipart/form-data"},
        {"Content-Type": "multipart/form-data; boundary="},
        {"Content-Type": "application/x-www-form-urlencoded; charset=nonsense"},
        {"Content-Type": "application/json"},
    ],
)
def test_malformed_requests_are_refused(visitor: Visitor, headers: dict[str, str]) -> None:
    answer = visitor.client.post("/errand/cancel", content=b"\xff\x00{", headers=headers)
    assert answer.status_code in (400, 403)


def test_what_is_looked_at_takes_no_body(visitor: Visitor) -> None:
    for body in (b"x", iter([b"x"])):
        assert visitor.client.request("GET", "/data", content=body).status_code == 400


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_only_a_form_with_files_may_be_as_large_as_one(visitor: Visitor, kind: str) -> None:
    headers = {"Content-Type": kind, "X-CSRF": visitor.csrf}
    body = iter([b"x" * (LARGEST_FORM // 2)] * 3)
    answer = visitor.client.post("/data/upload", content=body, headers=headers)
    assert answer.status_code == 413


def test_a_form_of_countless_fields_is_not_taken(visitor: Visitor) -> None:
    body = f"csrf={visitor.csrf}" + "&a=1" * 6000
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert visitor.client.post("/errand/cancel", content=body, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "path", [f"/adversaries/realistic?point={'9' * 5000}", f"/decide/report/{'9' * 5000}"]
)
def test_numbers_without_end_are_told(visitor: Visitor, path: str) -> None:
    assert visitor.get(path).status_code in (200, 422)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/release/run", {"seed": "9" * 5000}),
        ("/policy", {"action": "drop:²"}),
        ("/data/answer", {"number": "1", "first_year": "²"}),
        ("/data/answer", {"number": "1", "marked": "x", "meaning-0": "y"}),
        ("/data/reading", {"header": "²"}),
        ("/data/tree", {"name": "age", "what": "move", "pick": "²|30"}),
    ],
)
def test_no_field_of_a_form_is_a_mistake_of_ours(
    visitor: Visitor, path: str, fields: dict[str, str]
) -> None:
    answer = visitor.post(path, {**fields, "revision": visitor.revision})
    assert answer.status_code == 422, answer.text


def test_cancel_leads_nowhere_else(visitor: Visitor) -> None:
    for back in ("//evil.example", "https://evil.example", "javascript:alert(1)", "/\\evil"):
        answer = visitor.post("/errand/cancel", {"back": back})
        assert answer.headers["location"] == "/"
