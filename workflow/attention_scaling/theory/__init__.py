"""Exact values: closed forms, exhaustive enumeration and quadrature behind the measurements.

Import from the modules; this package itself imports nothing.

- `signs`: every row of signs counted, and the binomial law beyond, in exact integers
- `moments`: mean, variance and fourth moment of a score, and the divisors
- `cosine`: the law of the cosine of two Gaussian vectors
- `softmax_means`: means of the largest weight, the capacity, the entropy over Gaussian scores
- `overflow`: where exp overflows in a floating-point format
- `bounds`: sharp bounds on weights and derivatives
"""
