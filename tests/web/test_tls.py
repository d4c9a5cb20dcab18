"""The page over TLS: its cookie is for TLS alone, and everything on it works."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from hub.testing.process import hub_process
from tests.certificates import issue
from tests.web.visitor import PHONE, Visitors

CONFIG = """
[plugins]
enabled = []
[server]
tls_cert = "{cert}"
tls_key = "{key}"
[agents.echo]
transport = "scripted"
"""


def test_the_page_over_tls(visitors: Visitors, tmp_path: Path) -> None:
    """Login, stream and answers; the cookie is Secure, HttpOnly and SameSite=Strict; nothing is asked for in the
    clear."""
    issued = issue(tmp_path / "tls")
    with hub_process(CONFIG.format(cert=issued.cert, key=issued.key)) as hub:
        assert hub.url.startswith("https://")
        me = visitors.come(hub, PHONE, ignore_https_errors=True)
        asked: list[str] = []
        me.page.on("request", lambda request: asked.append(request.url))
        me.open()
        (cookie,) = me.page.context.cookies()
        assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
        me.page.get_by_role("button", name="Sessions").click()
        me.begin()
        me.play({"tool": "Bash", "input": {"command": "ls"}, "ask": True, "result": "out"}, {"text": "*done*"})
        me.open_asks.get_by_role("button", name="Allow once").click()
        expect(me.ended(1).locator(".markdown em")).to_have_text("done")
        assert {url.partition("://")[0] for url in asked} == {"https"}
        visitors.leave()
