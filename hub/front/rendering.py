"""An agent's Markdown as HTML that a page may take in as it stands.

Whatever the text holds, the HTML has only the tags that Markdown makes, links of known schemes, and classes of
the highlighter. HTML in the text is shown as the text that it is. Images are links: showing one would tell a
stranger that the page was read. What a terminal or a line of text would act on (escapes, control characters,
overrides of the direction) is made visible, so that nothing reads otherwise than it is.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import MutableMapping, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

MOST: Final = 60_000
"""Texts of more characters are not rendered: they are shown as they are. So are those with more brackets than any
prose has: what a parser does with them grows with the square of their number."""
_MOST_BRACKETS: Final = 2_000
_MOST_CODE: Final = 40_000
_LINK: Final = re.compile(r"(?:https?://|mailto:)[^\s\\]+", re.IGNORECASE)
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-~])")
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9+#.-]{1,30}")


def visible(text: str) -> str:
    """``text`` without a terminal's escapes; other control characters, and those that turn the direction of
    writing around, stand there by their number."""
    plain = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", plain)


def safe_link(address: str) -> bool:
    """Whether a link may lead there: a web page or a mail address, nothing that runs or reads."""
    return _LINK.fullmatch(address.strip()) is not None


class _Renderer(RendererHTML):
    """Markdown's own tags, code with its words in colours, images as links."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        token = tokens[idx]
        word = (token.info.split() or [""])[0]
        return _code(token.content, word if _LANGUAGE.fullmatch(word) else "")

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return _code(tokens[idx].content, "")

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: MutableMapping[str, Any]) -> str:
        token = tokens[idx]
        address = str(token.attrGet("src") or "")
        words = _escaped(self.renderInlineAsText(token.children or [], options, env) or address)
        return f'<a href="{_escaped(address)}" rel="noopener noreferrer" target="_blank">{words}</a>'

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        address = _escaped(str(tokens[idx].attrGet("href") or ""))
        return f'<a href="{address}" title="{address}" rel="noopener noreferrer" target="_blank">'

    def _cell(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        side = re.search(r"right|center", str(tokens[idx].attrGet("style") or ""))
        return f'<{tokens[idx].tag} class="{side[0]}">' if side else f"<{tokens[idx].tag}>"

    th_open = td_open = _cell


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _code(text: str, language: str) -> str:
    inner = _escaped(text)
    if language and len(text) <= _MOST_CODE:
        try:
            lexer = get_lexer_by_name(language, stripnl=False)
        except ClassNotFound:
            language = ""
        else:
            inner = highlight(text, lexer, HtmlFormatter(nowrap=True))
    label = f' data-language="{_escaped(language)}"' if language else ""
    return f'<pre class="code" tabindex="0"{label}><code>{inner}</code></pre>\n'


def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": True, "maxNesting": 40}, renderer_cls=_Renderer)
    made.enable(["table", "strikethrough", "linkify"])
    setattr(made, "validateLink", safe_link)  # noqa: B010 - a parameter of it has another name
    if made.linkify is not None:
        made.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return made


class Rendering:
    """Renders texts, and keeps the newest results by the text's hash: up to ``most`` characters of them."""

    def __init__(self, most: int = 8_000_000) -> None:
        self._most = most
        self._held = 0
        self._kept: OrderedDict[bytes, str] = OrderedDict()
        self._parser = _parser()

    def html(self, text: str) -> str | None:
        """The text as HTML; None where it is too much for that. Not to be called from several threads at once."""
        if len(text) > MOST or text.count("[") > _MOST_BRACKETS:
            return None
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if (known := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return known
        made = str(self._parser.render(visible(text)))
        self._kept[key] = made
        self._held += len(made)
        while self._held > self._most and len(self._kept) > 1:
            self._held -= len(self._kept.popitem(last=False)[1])
        return made
