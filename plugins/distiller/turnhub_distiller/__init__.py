"""The plugin ``distiller``: the small structured memory of finished turns.

Importing this is cheap: the libraries of model routes are loaded when a turn is given to one.
"""

from turnhub_distiller.plugin import Distiller

__all__ = ["Distiller"]
