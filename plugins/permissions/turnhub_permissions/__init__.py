"""The plugin ``permissions``: policy bundles, and shell commands judged by what they run.

Importing this is cheap: the parser is loaded when a hub starts, or when ``turnhub policy`` is used.
"""

from turnhub_permissions.plugin import Permissions

__all__ = ["Permissions"]
