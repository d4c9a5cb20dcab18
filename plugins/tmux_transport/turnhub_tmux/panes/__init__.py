"""Panes of tmux servers: found, started, looked at, typed into. Everything is bounded in time and off the event
loop; nothing that was not validated reaches tmux's formats, its command parser or a shell."""
