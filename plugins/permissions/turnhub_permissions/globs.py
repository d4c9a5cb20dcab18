"""Pure: patterns of file names, and whether they could name what is secret."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Final

LONGEST_PATTERN: Final = 256  # what is longer is looked at by a person
_MOST_BRACES: Final = 8
_SAMPLES: Final = (
    ".env",
    ".env.local",
    "prod.env",
    ".envrc",
    ".npmrc",
    ".git-credentials",
    "terraform.tfstate",
    "id_rsa",
    "id_ed25519",
    ".netrc",
    "credentials.json",
    "server.pem",
    "tls.key",
)


def could_be_secret(pattern: str, *, dotted: bool = False) -> bool:
    """Whether a shell pattern could name a secret file that it does not find now. ``dotted``: its wildcards stand
    for a leading dot too, as those of git and rg do."""
    name = pattern.rpartition("/")[2]
    if len(name) > LONGEST_PATTERN:
        return True
    if not dotted and (len(name) < 2 or name == "*"):
        return False
    matcher = re.compile(translate(name))
    return any(matcher.match(sample) and (dotted or sample[0] != "." or name[0] == ".") for sample in _SAMPLES)


def alternatives(pattern: str) -> list[str]:
    """The patterns that one with braces stands for; itself where there are none, or too many."""
    found = [one for one in re.split(r"[\s,](?![^{]*\})", pattern) if one]
    for _ in range(_MOST_BRACES):
        parts = [re.fullmatch(r"(.*?)\{([^{}]*)\}(.*)", one, re.DOTALL) for one in found]
        if not any(parts) or len(found) > _MOST_BRACES**2:
            break
        found = [
            text
            for one, part in zip(found, parts, strict=True)
            for text in ([part[1] + choice + part[3] for choice in part[2].split(",")] if part else [one])
        ]
    return found
