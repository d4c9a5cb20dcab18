"""The configuration is read strictly: each mistake is one line that names the key."""

from __future__ import annotations

from typing import Any

import pytest
from turnhub_distiller import settings
from turnhub_distiller.settings import Settings, settings_of

from hub import ConfigError, DistillerSettings

HOME = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
CLOUD = {"provider": "anthropic", "model": "m"}


def read(**values: Any) -> Settings:
    """The settings of ``[distiller]`` with these values."""
    return settings_of(DistillerSettings(where="turnhub.toml", values=values))


def test_nothing_said_is_the_extractive_route() -> None:
    """No model is ever asked by default."""
    assert read() == Settings(route=None, sensitive_route=None, fallback=True)
    assert read(route="extractive", sensitive_route="local") == Settings()


def test_the_cap_is_the_answer_and_the_reasoning() -> None:
    """A route's budgets add up; its time depends on where its model is."""
    made = read(route="cheap", routes={"cheap": CLOUD, "local": {**HOME, "thinking_tokens": 4000}})
    assert made.route is not None
    assert made.sensitive_route is not None
    assert (made.route.cap, made.route.timeout_s, made.route.local) == (2000, 30.0, False)
    assert (made.sensitive_route.cap, made.sensitive_route.timeout_s) == (4500, 90.0)


@pytest.mark.parametrize(
    ("base_url", "local"),
    [
        ("http://localhost:11434/v1", True),
        ("http://127.0.0.1/v1", True),
        ("http://[::1]:8/v1", True),
        ("http://192.168.1.5:8000/v1", True),
        ("https://api.example.com/v1", False),
        ("http://localhost.example.com/v1", False),
        ("http://8.8.8.8/v1", False),
        ("http://0.0.0.0/v1", False),
    ],
)
def test_what_is_local_is_told_by_the_address(base_url: str, local: bool) -> None:
    """A name says nothing, unless it is this machine's own."""
    route = {**HOME, "base_url": base_url}
    if local:
        assert read(routes={"local": route}).sensitive_route is not None
    else:
        with pytest.raises(ConfigError, match=r"^turnhub.toml: distiller.sensitive_route: expected a local route"):
            read(routes={"local": route})
        assert read(routes={"local": {**route, "local": True}}).sensitive_route is not None


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"rout": "x"}, "distiller.rout: is no key of this section; did you mean `route`?"),
        ({"route": "cheap"}, 'distiller.route: expected "extractive" or the name of a route'),
        ({"route": 1}, "distiller.route: expected"),
        ({"sensitive_route": "home"}, "distiller.sensitive_route: expected"),
        ({"sensitive_route": "cheap", "routes": {"cheap": CLOUD}}, "distiller.sensitive_route: expected a local"),
        ({"fallback": False}, 'distiller.fallback: expected "extractive" or "none", got true or false.'),
        ({"routes": []}, "distiller.routes: expected a table of routes, got a list."),
        ({"routes": {"x": 1}}, "distiller.routes.x: expected a table, got 1."),
        ({"routes": {"extractive": CLOUD}}, "distiller.routes.'extractive': expected a name"),
        ({"routes": {"x": {"model": "m"}}}, "distiller.routes.x.provider: expected"),
        ({"routes": {"x": {**CLOUD, "provider": "acme"}}}, 'distiller.routes.x.provider: expected "anthropic"'),
        ({"routes": {"x": {**CLOUD, "timeout": 3}}}, "distiller.routes.x.timeout: is no key of this section; did"),
        (
            {"routes": {"x": {**CLOUD, "timeout_s": 0}}},
            "distiller.routes.x.timeout_s: expected a number of seconds",
        ),
        (
            {"routes": {"x": {**CLOUD, "answer_tokens": "many"}}},
            "distiller.routes.x.answer_tokens: expected a whole",
        ),
        ({"routes": {"x": {**CLOUD, "base_url": "ftp://x"}}}, "distiller.routes.x.base_url: expected an address"),
        (
            {"sensitive": {"path": []}},
            "distiller.sensitive.path: is no key of this section; did you mean `paths`?",
        ),
        ({"sensitive": {"paths": "x"}}, "distiller.sensitive.paths: expected a list of texts, got 'x'."),
        (
            {"sensitive": {"content": ["("]}},
            "distiller.sensitive.content[0]: expected a regular expression, got '('",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key(values: dict[str, Any], told: str) -> None:
    """File, key, what was expected, what stands there."""
    with pytest.raises(ConfigError) as caught:
        read(**values)
    assert caught.value.detail.startswith(f"turnhub.toml: {told}")
    assert "\n" not in caught.value.detail


def test_a_route_whose_library_is_missing_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A route that is not used needs none."""
    monkeypatch.setattr(settings.importlib.util, "find_spec", lambda name: None)  # type: ignore[attr-defined]
    assert read(routes={"cheap": CLOUD}).route is None
    with pytest.raises(
        ConfigError, match=r"distiller.route: 'cheap' .* pip install 'turnhub-distiller\[models\]'"
    ):
        read(route="cheap", routes={"cheap": CLOUD})
