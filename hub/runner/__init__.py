"""The role that owns transports and runs turns."""
