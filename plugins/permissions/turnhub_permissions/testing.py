"""For tests of policies: a file system that is made up, and an engine over it.

engine = engine_over({"mine": {"extends": ["reads"], "deny": ["Bash(rm *)"]}})
assert judged(engine, "mine", "ls").verdict == "allow"
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from hub import Policies, PolicyBundle
from turnhub_permissions.engine import Engine, source_of
from turnhub_permissions.judge import Judgement

CWD: Final = "/home/ada/project"
HOME: Final = "/home/ada"
LINKS: Final = {
    "/home/ada/project/docs/out": "/etc",
    "/home/ada/project/link": "/home/ada/.ssh",
    "/home/ada/project/list": "/home/ada/project/src",
}
_TEXT: Final = """
/home/ada/project/README.md /home/ada/project/package.json /home/ada/project/log.txt /home/ada/project/.env
/home/ada/project/src/a.py /home/ada/project/src/b.py /home/ada/project/src/sub/c.py /home/ada/project/docs/a.md
/home/ada/project/customers/list /home/ada/project/docs/out /home/ada/project/link /home/ada/project/run.sh
/home/ada/project/server.pem /home/ada/.ssh/id_rsa /home/ada/.ssh/config /home/ada/.aws/credentials
/home/ada/project/conf/prod/.env /home/ada/notes.txt /etc/passwd
"""
FILES: Final = tuple(_TEXT.split())


class FakeFiles:
    """A resolver over :data:`FILES` and :data:`LINKS`: a person's home, with a project whose links lead astray."""

    def __init__(self, *, folds: bool = False, files: tuple[str, ...] = ()) -> None:
        self._folds = folds
        self._files = (*FILES, *files)

    def real(self, path: str) -> str:
        """Links resolved from the left, as the kernel does."""
        done = "/"
        for part in path.split("/"):
            if part == "..":
                done = posixpath.dirname(done)
            elif part not in ("", "."):
                done = posixpath.join(done, part)
                done = LINKS.get(done, done)
        return done

    def expand(self, pattern: str) -> tuple[str, ...] | None:
        """Names matched part by part; a leading dot has to be written."""
        parts = [part for number, part in enumerate(pattern.split("/")) if part not in ("", ".") or not number]
        found = []
        names = {
            "/".join(path.split("/")[:depth])
            for path in self._files
            for depth in range(2, len(path.split("/")) + 1)
        }
        for name in sorted(names):
            mine = name.split("/")
            if len(mine) == len(parts) and all(
                fnmatch.fnmatchcase(one, part) and (not one.startswith(".") or part.startswith("."))
                for one, part in zip(mine, parts, strict=True)
            ):
                found.append(name)
        return tuple(found)

    def below(self, path: str) -> tuple[tuple[str, bool], ...] | None:
        """The files below, and the links."""
        top = path.rstrip("/") + "/"
        return tuple((name, name in LINKS) for name in {*self._files, *LINKS} if name.startswith(top))

    def folds(self, path: str) -> bool:
        """As it was made."""
        return self._folds


def policies(tables: Mapping[str, Mapping[str, Any]], **offered: PolicyBundle) -> Policies:
    """Policies as the hub hands them over: ``tables`` as in [policies] of a file, and what plugins offer."""
    return Policies(
        where="turnhub.toml",
        configured={
            name: msgspec.convert({"name": name, **table}, PolicyBundle) for name, table in tables.items()
        },
        offered=offered,
        givers=dict.fromkeys(offered, "other"),
        used={},
    )


def engine_over(tables: Mapping[str, Mapping[str, Any]], files: FakeFiles | None = None) -> Engine:
    """An engine with these policies and the built-in bundles, over a made-up file system."""
    return Engine(source_of(policies(tables)), files or FakeFiles())


def judged(engine: Engine, policy: str, command: str) -> Judgement:
    """What a policy says of a shell command in :data:`CWD`."""
    return called(engine, policy, "Bash", {"command": command})


def called(engine: Engine, policy: str, tool: str, given: Mapping[str, Any]) -> Judgement:
    """What a policy says of a call of any tool in :data:`CWD`."""
    return engine.judge(engine.policy(policy), tool, given, CWD, home=HOME)
