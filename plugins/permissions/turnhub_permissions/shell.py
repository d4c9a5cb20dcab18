"""Pure: a shell command as the acts it comes down to."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from turnhub_permissions.acts import Act
from turnhub_permissions.made import settle
from turnhub_permissions.paths import Ground
from turnhub_permissions.reading import Reader
from turnhub_permissions.running import Commands
from turnhub_permissions.scene import Scene
from turnhub_permissions.script import Call, Script
from turnhub_permissions.tables import Tables
from turnhub_permissions.words import Word, literal

_MOST_NESTED: Final = 6
_MOST_CALLS: Final = 400
_MOVES: Final = frozenset(("cd", "chdir", "pushd", "popd"))
_BOMB: Final = re.compile(r"(\S{1,20})\s{0,9}\(\s{0,9}\)\s{0,9}\{\s{0,9}\1\s{0,9}\|\s{0,9}\1")


class Shell:
    """Reads commands with one set of tables. Not for several threads at once."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._reader = Reader()

    def acts(self, command: str, ground: Ground) -> list[Act]:
        """What ``command`` does when it is run at ``ground``."""
        scene = Scene(ground, self._tables)
        if _BOMB.search(command):
            scene.hard("a fork bomb")
        _Run(scene, self._reader).script(command, 0)
        settle(scene)
        return scene.acts


class _Run:
    def __init__(self, scene: Scene, reader: Reader) -> None:
        self._scene = scene
        self._reader = reader

    def script(self, text: str, depth: int, *, repeated: bool = False, fed: bool = False) -> None:
        """Note what a script does. ``repeated``: it may run more than once; ``fed``: with something piped in."""
        scene = self._scene
        if depth > _MOST_NESTED:
            scene.opaque("scripts are nested too deeply")
            return
        script = self._reader.read(text, scene.ground.home)
        for why in script.opaque:
            scene.opaque(why)
        for name in sorted(script.variables):
            if scene.tables.secret_variables.search(name):
                scene.danger("its value is a secret", f"${name}")
        if len(script.calls) > _MOST_CALLS or len(scene.acts) > _MOST_CALLS * 4:
            scene.opaque(f"it has more than {_MOST_CALLS} commands")
            return
        self._moves(script, depth, repeated=repeated)
        for call in script.calls:
            self._call(call, depth, fed=fed)

    def _moves(self, script: Script, depth: int, *, repeated: bool) -> None:
        """Forget the working directory where the order of its changes cannot be told."""
        moving = [call for call in script.calls if any(word.text in _MOVES for word in call.words)]
        if not moving:
            return
        if depth or repeated or any(call.repeated for call in moving) or any(call.inside for call in script.calls):
            self._scene.ground = replace(self._scene.ground, cwds=())
            if repeated:
                self._scene.opaque("it changes its working directory more than once")

    def _call(self, call: Call, depth: int, *, fed: bool) -> None:
        for name, value in call.assignments:
            self._assigned(name, value)
        for redirect in call.redirects:
            if redirect.writes:
                self._scene.write(redirect.target)
            else:
                self._scene.read(redirect.target)
        if not call.words:
            return
        called = call.words[0].text
        if called is not None and called in call.inside:
            if call.spawned:
                self._scene.hard("a fork bomb", called)
            else:
                self._scene.opaque("a function that calls itself", called)
        fed = fed or call.fed
        commands = Commands(
            self._scene, lambda text: self.script(text, depth + 1, repeated=call.repeated, fed=fed)
        )
        commands.run(call.words, fed=fed, repeated=call.repeated)

    def _assigned(self, name: str, value: Word) -> None:
        tables = self._scene.tables
        harmless = tables.variable_values.get(name)
        if harmless is not None and harmless.fullmatch(value.text if value.text is not None else "\0"):
            return
        if name in tables.search_paths and self._here(value):
            self._scene.run((literal(f"{name}="), value), f"{name}=")
            return
        own = re.fullmatch(r"(?!npm_|yarn_)[a-z_][a-z0-9_]*", name) and name not in tables.special_variables
        if own or name in tables.safe_variables:
            return
        if name not in tables.special_variables and not tables.meant_variables.search(
            name
        ):  # of no known program: what it means, a program's own rules say
            self._scene.run((literal(f"{name}="), value), f"{name}=")
        else:
            self._scene.opaque(f"the variable {name} may change what is run")

    def _here(self, value: Word) -> bool:
        """Whether a search path only leads through the working directory, where programs look anyway."""
        parts = (value.text or "/").split(":")
        places = [place for part in parts if part for place in self._scene.places(literal(part)) or ()]
        return bool(places) and all(self._scene.ground.within(place) for place in places)
