"""Becomes the program that a file names: ``python launch.py FILE``, in a pane that has just been made.

The file (0600, JSON: ``argv``, ``env``, ``cwd``) is removed at once. So neither the environment, which may hold
secrets, nor the arguments go through a shell, tmux's command line or its global environment.
"""

import json
import os
import sys


def main() -> None:
    """Read, remove, become."""
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - nothing is imported that is not needed
        spec = json.load(file)
    os.unlink(path)  # noqa: PTH108
    env = {
        **spec["env"],
        **{name: os.environ[name] for name in ("TERM", "TMUX", "TMUX_PANE") if name in os.environ},
    }
    try:
        os.chdir(spec["cwd"])
        os.execvpe(spec["argv"][0], spec["argv"], env)  # noqa: S606 - no shell is wanted
    except OSError as error:
        # tmux makes room for its own last words by scrolling one line away: an empty one.
        sys.stderr.write(f"\nturnhub: {spec['argv'][0]} could not be started in {spec['cwd']}: {error.strerror}\n")
        sys.exit(127)


if __name__ == "__main__":
    main()
