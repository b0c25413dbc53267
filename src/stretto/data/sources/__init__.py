"""Where samples come from: a file for each word of `data:`, and what these are made of."""
