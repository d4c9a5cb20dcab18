"""Redis, the truth: keys, transactions, typed calls, the feed of frames, and the embedded server."""
