"""Why attention divides its scores by the square root of d_k: benchmark and report."""
