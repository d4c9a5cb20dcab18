"""The chat at a terminal: ``turnhub attach`` where a person sits at one.

What is typed means (:mod:`~hub.cli.chat.commands`, :mod:`~hub.cli.chat.answering`), what events show
(:mod:`~hub.cli.chat.story`, :mod:`~hub.cli.chat.blocks`) and how it looks (:mod:`~hub.cli.chat.render`) is pure;
:mod:`~hub.cli.chat.screen` is the terminal, :mod:`~hub.cli.chat.chat` holds them together with the hub.
"""
