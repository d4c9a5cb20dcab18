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
    r"account[_-]?key|auth[_-]?key|(?:pre)?shared[_-]?key|secret[_-]?key[_-]?base|secret|passwd|password|passphrase|"
    r"pwd|(?<=[_-])pass|(?<=[_-])pw|credentials?|"
    r"(?:access|auth|refresh|bearer|id|session|api|bot|csrf|oauth|github|gitlab|npm|slack|deploy)[_-]?token|token)"
)
# Names end with such a word: DB_PASSWORD, clientSecret, x-api-key. What follows the word would make it another
# thing: token_count, password_hint.
_KEY_NAME: Final = re.compile(rf"(?i){_WORD}\Z")
_HEADER_NAME: Final = re.compile(r"(?i)(?:proxy-)?authorization|cookie|set-cookie|x-auth-token")

# What a variable of an environment is called that holds one: what is set there is a value, not code.
_VARIABLE_NAME: Final = re.compile(
    r"(?:^|_)(?:PASS|PASSWD|PASSWORD|PASSPHRASE|PW|SECRET|TOKEN|COOKIE|CREDENTIALS?)\Z|_PWD\Z"
)
_KEY_VARIABLE_NAME: Final = re.compile(r"(?:KEY|AUTH|SALT|SEED|KEY_BASE|SIGNATURE|DSN|WEBHOOK(?:_URL)?)\Z")

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
        r"gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_.-]{20,}",
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
        r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}\.[A-Za-z0-9_-]{8,}",
        r"AGE-SECRET-KEY-1[A-Z0-9]{50,}",
        r"(?:gsk|r8|fw|csk|jina|e2b|rnd|re|nfp|phx|lsv2_(?:pt|sk)|pcsk)_(?=[A-Za-z]{0,30}[0-9])[A-Za-z0-9]{24,}(?:_\w+)?",
        r"(?:xai|pplx|tvly|nvapi|tskey-[a-z]+)-(?=[A-Za-z_-]{0,30}[0-9])[A-Za-z0-9_-]{20,}",
        r"(?:tgp_v1|vercel_blob_rw)_[A-Za-z0-9_-]{30,}",
        r"dapi[a-f0-9]{32}(?:-\d)?",
        r"do[or]_v1_[a-f0-9]{40,}",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}",
        r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
        r"(?:ntn|secret)_[A-Za-z0-9]{40,}",
        r"hv[sbr]\.[A-Za-z0-9_-]{20,}",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}",
        r"PMAK-[a-f0-9]{24}-[a-f0-9]{32,}",
        r"oy2[a-z0-9]{43}",
        r"rubygems_[a-f0-9]{40,}",
        r"cio[A-Za-z0-9]{32}",
        r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}",
        r"AT(?:ATT|CTT|BB)[A-Za-z0-9_=-]{24,}",
        r"fig[dour]_?[A-Za-z0-9_-]{36,}",
        r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}",
        r"EAAA[A-Za-z0-9_-]{50,}",
        r"sbp_[a-f0-9]{40}",
        r"sb_secret_[A-Za-z0-9_-]{20,}",
        r"sntry[su]_[A-Za-z0-9+/=_-]{40,}",
        r"gl(?:sa|c)_[A-Za-z0-9+/=_-]{30,}",
        r"NR(?:AK|AL|II|JS)-?[A-Za-z0-9]{19,}",
        r"pul-[a-f0-9]{40}",
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{30,}",
        r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}",
        r"(?:FlyV1 )?fm[12][ar]?_[A-Za-z0-9+/=_,-]{40,}",
        r"GOCSPX-[A-Za-z0-9_-]{20,}",
        r"\d{8,10}:AA[A-Za-z0-9_-]{32,}",
        r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
        r"(?:SK|AC)[a-f0-9]{32}",
        r"key-[a-f0-9]{32}",
        r"[a-f0-9]{32}-us\d{1,2}",
        r"xapp-\d-[A-Za-z0-9-]{20,}",
        r"th_[A-Za-z0-9_-]{40,}",
    )


_MAKERS: Final = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(_known_makers())})(?![A-Za-z0-9])")
_BLOCK: Final = re.compile(
    r"(-----BEGIN (?P<kind>[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?)-----).*?(?:(-----END (?P=kind)-----)|\Z)", re.DOTALL
)
_URL: Final = re.compile(
    r"(?P<head>\b[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@\"'<>]{0,200}:)(?!\[masked)"
    # A password with a slash in it ends at the first @; a port and a path are none.
    r"(?P<secret>[^\s/\"'<>]{1,500}(?=@)|(?!\d{1,5}/)[^\s@\"'<>]{1,500}(?=@))"
)
# A token in the place of a user, and addresses that let everybody in who knows them.
_URL_TOKEN: Final = re.compile(
    r"(?P<head>\b[A-Za-z][A-Za-z0-9+.-]{0,30}://)(?=[^\s/:@0-9]{0,64}[0-9])(?P<secret>[A-Za-z0-9_~.-]{20,200})(?=[:@])"
    r"(?=[^\s/\"'<>]{0,200}@)"
)
_HOOK: Final = re.compile(
    r"(?P<head>hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/\d+/|"
    r"webhook\.office\.com/webhookb2/)(?P<secret>[A-Za-z0-9@/_-]{20,500})"
)
_HEADER: Final = re.compile(
    r"(?i)(?P<head>\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:(?:basic|bearer|token|digest|apikey)\s+)?)"
    r"(?P<secret>(?!(?:basic|bearer|token|digest|apikey)\s)(?:[A-Za-z0-9+/=._~:-]{6,}|[A-Za-z+/=._~:-]{0,5}\d[\w+/=.~:-]*))"
)
# A short one is none without a digit: it may be a word.
_BEARER: Final = re.compile(
    r"(?P<head>\b[Bb]earer\s+)(?!\[masked)(?P<secret>[A-Za-z0-9+/=._~-]{16,}|[A-Za-z+/=_~-]{0,15}\d[A-Za-z0-9+/=._~-]*)"
)
_COOKIE: Final = re.compile(
    r"(?im)(?P<head>\b(?:set-)?cookie(?:\\?[\"'])?:[ \t]*(?:\\?[\"'])?)(?!\[masked)"
    r"(?P<secret>[^\s;=\"'\\]{1,200}=[^\r\n\"'\\]+)"
)
# What commands are given beside their options: `curl -u name:…`, `curl -b name=…`, `mysql -p…`, `sshpass -p …`.
_LOGIN: Final = re.compile(
    r"(?P<head>\b(?:curl|wget|httpie)\b[^\n|;]{0,150}?\s(?:-u|-U|-a|--user|--proxy-user|--auth)[ =]*[\"']?"
    r"[^\s:\"']{1,100}:)(?!\[masked)(?P<secret>[^\s\"']{1,200})"
)
_SENT_COOKIE: Final = re.compile(
    r"(?P<head>\bcurl\b[^\n|;]{0,150}?\s(?:-b|--cookie)[ =]*)"
    r"(?P<secret>\"[^\"\n=]+=[^\"\n]+\"|'[^'\n=]+=[^'\n]+'|[^\s=\"']+=[^\s\"']+)"
)
_GIVEN: Final = re.compile(
    r"(?P<head>\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^\n|;]{0,150}?\s-p|\bsshpass\s+-p[ ]*|"
    r"\b(?:login|account)\s+\S{1,200}\s+password\s+)(?!\[masked)(?P<secret>[^\s\"']+|\"[^\"\n]+\"|'[^'\n]+')"
)
_DOCKER: Final = re.compile(r"(?P<head>\\?\"auth\\?\"\s*:\s*\\?\")(?P<secret>[A-Za-z0-9+/=]{8,})(?=\\?\")")
_QUERY: Final = re.compile(
    rf"(?i)(?P<head>[?&][\w.-]{{0,40}}?(?:{_WORD}|sig|signature|hmac)=)(?!\[masked)(?P<secret>[^\s&#\"'<>]+)"
)
_OPTION: Final = re.compile(
    rf"(?i)(?P<head>(?<!\S)--?[\w-]{{0,40}}?{_WORD}[ \t]+)"
    r"(?!\[masked)(?P<secret>(?![-\"'])\S{4,}|\"[^\"\n]{4,}\"|'[^'\n]{4,}')"
)
_ASSIGNMENT: Final = re.compile(
    rf"(?i)(?P<head>{_WORD}\\?[\"']?[ \t]*(?::=|=>|=(?!=)|:(?![:/]))[ \t]*)"
    r"(?!\[masked)(?P<secret>\\?\"(?:[^\"\\\n]|\\[^\"])*\\?\"|'[^'\n]*'|[^\s\"'\\,;)}\]]+)"
)
# What is called a password is one whatever its words, where it is set and not only spoken of: close behind its
# sign and no argument of code, alone in its line, or in quotes.
_CALLED: Final = r"(?:(?<![A-Za-z0-9])|(?<=[a-z0-9](?-i:(?=P))))(?:password|passwd|passphrase|pwd)"
_PASSWORD: Final = re.compile(
    rf"(?i)(?P<head>{_CALLED}=)(?!\[masked)(?P<secret>[A-Za-z0-9_-]{{4,200}})(?![^\s\"'\\;&|<>`])"
)
_PASSWORD_LINE: Final = re.compile(
    rf"(?im)(?P<head>^[ \t]*(?:[\w.-]{{0,80}}[_.-])?{_CALLED}[ \t]*[:=][ \t]*)(?!\[masked)"
    r"(?P<secret>[A-Za-z0-9_-]{4,200})(?=[ \t\r]*$)"
)
_PASSWORD_QUOTED: Final = re.compile(
    rf"(?i)(?P<head>{_CALLED}\\?[\"']?[ \t]*(?::=|=>|=(?!=)|:(?![:/]))[ \t]*)(?!\[masked)"
    r"(?P<secret>\\?\"(?:[^\"\\\n]|\\[^\"])*\\?\"|'[^'\n]*')"
)
_PGPASS: Final = re.compile(
    r"(?m)(?P<head>^[ \t]*(?:\d+[ \t:|→]+)?[\w.*/-]{1,200}:(?:\d{4,5}|\*):(?!\d+:)[^\s:]{1,100}:[^\s:]{1,100}:)"
    r"(?!\[masked)(?P<secret>[^\s:]{1,200})(?=[ \t\r]*$)"
)
_VARIABLE: Final = re.compile(
    r"(?<![\w$.-])(?P<head>(?P<name>[A-Z][A-Z0-9_]{1,63})=)(?!\[masked)"
    r"(?P<secret>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'\\,;)}\]]+)"
)
_KEY_FILE: Final = re.compile(r"(Private-Lines:[ \t]*\d+\r?\n)(?!\[masked)(?:[A-Za-z0-9+/=]{1,80}(?:\r?\n|\Z))+")
_BLOCK_END: Final = re.compile(r"-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_LINE: Final = re.compile(r"[ \t]*(?:\d+[ \t:|→]+)?[A-Za-z0-9+/=]{4,}[ \t\r]*")


def mask(text: str) -> str:
    """``text`` with :data:`MASK` in the place of every secret that is found. Masking twice changes nothing."""
    for _ in range(_ROUNDS):
        before, text = text, _masked_once(text)
        if text == before:
            break
    return text


def _masked_once(text: str) -> str:
    """Where several secrets stand behind one sign, such as a command's name, each round finds the next."""
    text = _BLOCK.sub(lambda found: f"{found[1]}\n{MASK}\n{found[3] or ''}".rstrip("\n"), text)
    text = _without_tails(_KEY_FILE.sub(rf"\1{MASK}\n", text))
    text = _MAKERS.sub(MASK, text)
    for pattern in _ALWAYS:
        text = pattern.sub(_masked(lambda _: True), text)
    text = _VARIABLE.sub(_variable, text)
    return _ASSIGNMENT.sub(_masked(_looks_secret), text)


_ROUNDS: Final = 100
_ALWAYS: Final = (
    *(_URL, _URL_TOKEN, _HOOK, _HEADER, _BEARER, _COOKIE, _QUERY, _OPTION),
    *(_LOGIN, _SENT_COOKIE, _GIVEN, _DOCKER),
    *(_PASSWORD, _PASSWORD_LINE, _PASSWORD_QUOTED, _PGPASS),
)


def _without_tails(text: str) -> str:
    """Private keys whose beginning was cut off: their lines before the end are masked."""
    kept, after = [], 0
    for end in _BLOCK_END.finditer(text):
        lines = text[after : end.start()].split("\n")
        own = len(lines) - 1  # what stands before the end in its own line is its number, at most
        first = own
        while first > 0 and _BLOCK_LINE.fullmatch(lines[first - 1]):
            first -= 1
        kept += ["\n".join([*lines[:first], *([MASK] if first < own else []), *lines[own:]]), end[0]]
        after = end.end()
    return "".join(kept) + text[after:]


def _variable(found: re.Match[str]) -> str:
    """What is set in an environment, masked where the variable's name tells of a secret."""
    password = _VARIABLE_NAME.search(found["name"]) is not None
    if not password and _KEY_VARIABLE_NAME.search(found["name"]) is None:
        return found[0]
    return _masked(lambda secret: password or _looks_random(secret))(found)


def _looks_random(value: str) -> bool:
    """Whether a value is long, and not of words alone: a key, and not the name of one."""
    bare = value.strip("\"'")
    return len(bare) >= 12 and any(sign.isdigit() for sign in bare) and any(sign.isalpha() for sign in bare)


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
            return {mask(key): _member(_named(value, key), item) for key, item in value.items()}
        case list() | tuple():
            return [_member(_option(before), item) for before, item in zip(("", *value), value, strict=False)]
        case _:
            return value


def _named(value: dict[str, Any], key: str) -> str:
    """The name of what stands behind ``key``: lists of variables have it in a field beside the value."""
    if key != "value":
        return key
    names = (value.get(field) for field in ("name", "key", "variable"))
    return next((name for name in names if isinstance(name, str)), key)


def _option(before: Any) -> str:
    """The name that an argument gives to the one behind it."""
    return before if isinstance(before, str) and re.fullmatch(r"--?[\w-]{1,80}", before) else ""


def _member(key: str, item: Any) -> Any:
    named = _KEY_NAME.search(key) or _HEADER_NAME.fullmatch(key) or _VARIABLE_NAME.search(key)
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
