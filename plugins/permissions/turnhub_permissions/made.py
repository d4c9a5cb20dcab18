"""Pure: whether a command runs what it has made itself, or has fetched."""

from __future__ import annotations

from turnhub_permissions.places import exists
from turnhub_permissions.scene import Scene
from turnhub_permissions.tables import Tables


def settle(scene: Scene) -> None:
    """Note the files that a command runs and has made. Order does not matter: functions and loops change it."""
    made = {path for act in scene.acts if act.kind == "write" for one in act.places for path in one.spellings()}
    fetched = any(act.kind == "run" and _fetches(act.words, scene.tables) for act in scene.acts)
    if fetched:  # else it is what compilers make
        made |= {path for one in scene.outputs for path in one.spellings()}
    if not made and not fetched:
        return
    for about, places, sure in scene.files:
        paths = [path for one in places or () for path in one.spellings()]
        if fetched and (places is None or made.intersection(paths)):
            scene.danger("runs what nobody has seen", about)
        elif made.intersection(paths):
            scene.opaque("it runs what this very command has made", about)
        elif fetched and sure and not any(exists(path, scene.ground) for path in paths):
            scene.danger("runs what is not there yet, and may have been fetched", about)


def _fetches(words: tuple[str, ...], tables: Tables) -> bool:
    name = words[0].rpartition("/")[2]
    return name in tables.fetching or (name == "git" and words[1:2] == ("clone",))
