"""The agent's own transcript: where it is, following it, and what its rows say."""
