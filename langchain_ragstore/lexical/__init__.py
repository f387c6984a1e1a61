"""Full text, as pure functions: BM25 scores and the bytes of posting lists."""
