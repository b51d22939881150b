"""Speed and memory, as ratios of two ways of doing the same, both timed in one run (`make bench`)."""
