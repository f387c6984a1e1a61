"""Where records live: the `Backend` protocol and its engines."""
