"""Markdown as HTML that is safe to show: no text that an agent can write becomes more than Markdown's own tags."""

from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.front.rendering import MOST, Rendering, safe_link, visible
from tests.front.door import Door, problem

TAGS = {
    *("p", "h1", "h2", "h3", "h4", "h5", "h6", "a", "em", "strong", "s", "code", "pre", "span", "ul", "ol", "li"),
    *("blockquote", "hr", "br", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {
    "a": {"href", "title", "rel", "target"},
    "pre": {"class", "tabindex", "data-language"},
    "span": {"class"},
    "ol": {"start"},
    "th": {"class"},
    "td": {"class"},
}


class Checked(HTMLParser):
    """Reads HTML as a browser would, and notes whatever may not be in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES.get(tag, set()):
                self.faults.append(f"<{tag} {name}>")
            if name == "href":
                self.links.append(value or "")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.faults.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.faults.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        self.faults.append(f"<?{data}>")


def checked(text: str) -> Checked:
    """The text, rendered and read again."""
    html = Rendering().html(text)
    assert html is not None
    found = Checked(html)
    assert found.faults == [], html
    assert all(safe_link(link) for link in found.links), found.links
    return found


ATTACKS = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<div onclick='x'>\n\n</div>",
    "<!-- comment --><!DOCTYPE x><?php x?>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](file:///etc/passwd)",
    "[a](//evil.example)",
    "[a](/v1/sessions)",
    '[a](https://x.example "onmouseover=alert(1)")',
    '[a](https://x.example/"onmouseover="alert(1))',
    "![a](javascript:alert(1))",
    "![a](data:image/svg+xml;base64,PHN2Zz4=)",
    '!["><script>](https://x.example/i.png)',
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    '```"><script>alert(1)</script>\nx\n```',
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "    </code></pre><script>alert(1)</script>",
    "`</code><script>alert(1)</script>`",
    "|a|\n|:-:|\n|<script>|",
    "https://x.example/<script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\x00<script\x00>",
    "[a](https://x.example\\@evil.example)",
)


@pytest.mark.parametrize("text", ATTACKS)
def test_no_attack_becomes_more_than_text(text: str) -> None:
    """Scripts, handlers, links that run, markup smuggled through code, tables, titles and entities."""
    checked(text)


_pieces = st.sampled_from(
    [
        *ATTACKS,
        "<",
        ">",
        '"',
        "'",
        "`",
        "```",
        "[",
        "](",
        ")",
        "!",
        "javascript:",
        "onerror=",
        "\n",
        "\n\n",
        "|",
        "*",
        "&",
        "<a ",
        "# ",
    ]
)


@given(st.lists(_pieces | st.text(max_size=8), max_size=25).map("".join))
def test_no_mixture_of_attacks_becomes_more_than_text(text: str) -> None:
    """Whatever stands beside whatever."""
    checked(text)


def test_markup_is_shown_as_the_text_that_it_is() -> None:
    """A person reads what the agent wrote."""
    assert "<b>x</b>" in checked("so <b>x</b>").text


def test_markdown_is_what_it_means() -> None:
    """Headings, emphasis, lists, tables, links, code with its words in classes."""
    html = Rendering().html("# T\n\n*a* **b** ~~c~~\n\n- x\n\n|a|\n|-:|\n|1|\n\n```python\ndef f(): pass\n```")
    assert html is not None
    for part in ("<h1>T</h1>", "<em>a</em>", "<strong>b</strong>", "<li>x</li>", '<td class="right">1</td>'):
        assert part in html
    assert '<span class="k">def</span>' in html
    assert "style=" not in html


def test_addresses_are_links_and_images_are_only_links() -> None:
    """Nothing is fetched because somebody reads; a link says where it leads."""
    found = checked(
        "see https://x.example/a?b=1 and ![pic](https://y.example/p.png), <mail@x.example>, a.b, me@x.example"
    )
    assert found.links == ["https://x.example/a?b=1", "https://y.example/p.png", "mailto:mail@x.example"]
    assert "pic" in found.text


def test_what_a_terminal_would_act_on_is_gone_and_what_turns_the_writing_is_visible() -> None:
    """Escapes, control characters, overrides of direction. Marks that languages need stay."""
    assert visible("\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b(B\r\nx\x1b") == "red \nx[U+001B]"
    assert visible("a\x08b\x7f\x9b\u202ec\u2066\u200f") == "a[U+0008]b[U+007F][U+009B][U+202E]c[U+2066]\u200f"
    assert "[U+202E]" in checked("`\u202e`").text


def test_a_text_that_is_too_long_is_not_rendered() -> None:
    """It is shown as it is; so is one of nothing but brackets, which parsers take for ever over."""
    assert Rendering().html("x" * (MOST + 1)) is None
    assert Rendering().html("![" * 3000) is None


_SLOW = ("[" * 2000, ("[" + "x" * 28) * 2000, ("![a](" + "b" * 24) * 2000, "*a " * 20_000, "> " * 5000, "`" * MOST)


@pytest.mark.parametrize("text", [*_SLOW, "<" * MOST, "_*" * 30_000, "|a" * 30_000, "- " * 30_000, "a" * MOST])
def test_no_text_takes_for_ever(text: str) -> None:
    """The usual tricks against parsers, at the longest length that is rendered."""
    begin = time.process_time()
    checked(text)
    assert time.process_time() - begin < 6


def test_results_are_kept_within_bounds() -> None:
    """The same text is the same result; the oldest make room."""
    rendering = Rendering(most=100)
    first = rendering.html("a" * 60)
    assert rendering.html("a" * 60) is first
    rendering.html("b" * 60)
    assert rendering.html("a" * 60) is not first


@pytest.mark.anyio
async def test_texts_are_rendered_over_http_in_their_order(door: Door) -> None:
    """One request for many; null for what is too long; wrong bodies are named."""
    answer = await door.client.post("/v1/render", json={"texts": ["*a*", "x" * 1, "*a*"]})
    assert answer.json() == {"html": ["<p><em>a</em></p>\n", "<p>x</p>\n", "<p><em>a</em></p>\n"]}
    await problem(await door.client.post("/v1/render", json={"texts": ["x"] * 201}), 422, "invalid")
    await problem(await door.client.post("/v1/render", json={"text": "x"}), 422, "invalid")
    async with door.client_with("read") as reader:
        assert (await reader.post("/v1/render", json={"texts": []})).json() == {"html": []}
