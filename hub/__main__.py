"""``python -m hub``: the same as the command ``turnhub``."""

from hub.cli.main import main

if __name__ == "__main__":
    main()
