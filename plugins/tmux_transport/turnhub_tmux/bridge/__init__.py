"""The hook bridge: Claude Code's own HTTP hooks, posted to a loopback listener, as facts."""
