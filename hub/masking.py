"""Pure: secrets in text and in JSON, masked, so that a conversation can be shown to others.

Masking looks for what is a secret by its form (keys and tokens of known makers, private key blocks, JSON web
tokens), by where it stands (``Authorization:`` headers, ``password = …``, URLs with a password) and, in JSON, by
the name of the field that holds it. It is a help and no proof: what looks like an ordinary word stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

MASK: Final = "[masked]"

_WORD: Final = (
    r"(?:api[_-]?key|access[_-]?key(?:[_-]?id)?|secret[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|"
    r"account[_-]?key|auth[_-]?key|secret|passwd|password|passphrase|pwd|credentials?|"
    r"(?:access|auth|refresh|bearer|id|session|api|bot|csrf|oauth|github|gitlab|npm|slack|deploy)[_-]?token|token)"
)
# Names end with such a word: DB_PASSWORD, clientSecret, x-api-key. What follows the word would make it another
# thing: token_count, password_hint.
_KEY_NAME: Final = re.compile(rf"(?i){_WORD}\Z")
_HEADER_NAME: Final = re.compile(r"(?i)(?:proxy-)?authorization|cookie|set-cookie|x-auth-token")

# What stands where a secret would and is none: references to one, and words that say that there is none.
_HARMLESS: Final = re.compile(
    r"""(?xi)
    \[masked\]
    | \$ .*                                  # $TOKEN, ${TOKEN}, $(cat token)
    | %\w+% | \{\{.* | \{\w*\}? | <[^>]*>?   # %TOKEN%, {{ token }}, {token}, <your token>
    | (?:os\.|process\.|env[.\[(]|self\.|config[.\[]|settings\.|getenv|secrets?[.\[]|vault[.:(]).*
    | (?:true|false|null|none|nil|undefined|str|string|int|bool|bytes|optional|required|any|object|number|
         x{3,}|\*+|\.{3,}|-+|_+|…+|example|changeme|placeholder|redacted|masked|secret|password|token|hidden)
    """
)
_CALL: Final = re.compile(r"[A-Za-z_][\w.]*[(\[].*")  # get_token(), tokens[0]


def _known_makers() -> tuple[str, ...]:
    return (
        r"sk-ant-[A-Za-z0-9_-]{16,}",
        r"sk-(?:proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,}",
        r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}",
        r"whsec_[A-Za-z0-9+/=]{20,}",
        r"gh[pousr]_[A-Za-z0-9]{30,}",
        r"github_pat_[A-Za-z0-9_]{40,}",
        r"glpat-[A-Za-z0-9_-]{20,}",
        r"npm_[A-Za-z0-9]{30,}",
        r"pypi-[A-Za-z0-9_-]{40,}",
        r"xox[abeprs]-[A-Za-z0-9-]{10,}",
        r"(?:AKIA|ASIA|AGPA|AROA|AIDA)[A-Z0-9]{16}",
        r"AIza[A-Za-z0-9_-]{35}",
        r"ya29\.[A-Za-z0-9_-]{20,}",
        r"hf_[A-Za-z0-9]{30,}",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
        r"dop_v1_[a-f0-9]{40,}",
        r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
        r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
        r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
    )


_MAKERS: Final = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(_known_makers())})(?![A-Za-z0-9])")
_BLOCK: Final = re.compile(
    r"(-----BEGIN (?P<kind>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----).*?(?:(-----END (?P=kind)-----)|\Z)", re.DOTALL
)
_URL: Final = re.compile(
    r"(?P<head>\b[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@\"'<>]{0,200}:)(?!\[masked)(?P<secret>[^\s/@\"'<>]{1,500})(?=@)"
)
_HEADER: Final = re.compile(
    r"(?i)(?P<head>\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:(?:basic|bearer|token|digest|apikey)\s+)?)"
    r"(?P<secret>(?!(?:basic|bearer|token|digest|apikey)\s)[A-Za-z0-9+/=._~:-]{6,})"
)
_BEARER: Final = re.compile(r"(?P<head>\b[Bb]earer\s+)(?!\[masked)(?P<secret>[A-Za-z0-9+/=._~-]{16,})")
_COOKIE: Final = re.compile(
    r"(?im)(?P<head>\b(?:set-)?cookie:[ \t]*)(?!\[masked)(?P<secret>[^\s;=]{1,200}=[^\r\n\"']+)"
)
_QUERY: Final = re.compile(rf"(?i)(?P<head>[?&][\w.-]{{0,40}}?{_WORD}=)(?!\[masked)(?P<secret>[^\s&#\"'<>]+)")
_OPTION: Final = re.compile(
    rf"(?i)(?P<head>(?<!\S)--?[\w-]{{0,40}}?{_WORD}[ \t]+)"
    r"(?!\[masked)(?P<secret>(?![-\"'])\S{4,}|\"[^\"\n]{4,}\"|'[^'\n]{4,}')"
)
_ASSIGNMENT: Final = re.compile(
    rf"(?i)(?P<head>{_WORD}\\?[\"']?[ \t]*(?::=|=>|=(?!=)|:(?![:/]))[ \t]*)"
    r"(?!\[masked)(?P<secret>\\?\"(?:[^\"\\\n]|\\[^\"])*\\?\"|'[^'\n]*'|[^\s\"'\\,;)}\]]+)"
)


def mask(text: str) -> str:
    """``text`` with :data:`MASK` in the place of every secret that is found. Masking twice changes nothing."""
    text = _BLOCK.sub(lambda found: f"{found[1]}\n{MASK}\n{found[3] or ''}".rstrip("\n"), text)
    text = _MAKERS.sub(MASK, text)
    for pattern in (_URL, _HEADER, _BEARER, _COOKIE, _QUERY, _OPTION):
        text = pattern.sub(_masked(lambda _: True), text)
    return _ASSIGNMENT.sub(_masked(_looks_secret), text)


def mask_json(value: Any, keep: frozenset[str] = frozenset()) -> Any:
    """A JSON value with the secrets in its strings masked, and every string behind a name that tells of a secret.
    ``keep``: names, on the outermost level, of what is no content."""
    if isinstance(value, dict):
        return {key: item if key in keep else _member(key, item) for key, item in value.items()}
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case str():
            return mask(value)
        case dict():
            return {mask(key): _member(key, item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value


def _member(key: str, item: Any) -> Any:
    named = _KEY_NAME.search(key) or _HEADER_NAME.fullmatch(key)
    if named and isinstance(item, str) and item and not _is_harmless(item):
        return MASK
    return _plain(item)


def _masked(wanted: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
    def replace(found: re.Match[str]) -> str:
        secret = found["secret"]
        quote = re.match(r"\\?[\"']", secret)
        bare = secret[quote.end() : -quote.end()] if quote else secret
        if _is_harmless(bare) or not wanted(secret):
            return found[0]
        marks = quote[0] if quote else ""
        return f"{found['head']}{marks}{MASK}{marks}"

    return replace


def _is_harmless(value: str) -> bool:
    return not value.strip() or _HARMLESS.fullmatch(value.strip()) is not None


def _looks_secret(value: str) -> bool:
    """Whether what is assigned to such a name is a value, not code or a word of prose: quoted, or with something
    in it that words do not have."""
    if value[0] in "\"'\\":
        bare = value.strip("\\\"'")
        return len(bare) >= 4 and " " not in bare.strip()
    if _CALL.fullmatch(value) or len(value) < 6:
        return False
    return not value.rstrip(".:!?").replace("_", "").replace("-", "").isalpha() or not value.islower()
