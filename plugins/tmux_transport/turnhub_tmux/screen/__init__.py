"""Reading a terminal's screen. Pure: bytes in, what they say out; no tmux, no clock, no files but manifests."""
