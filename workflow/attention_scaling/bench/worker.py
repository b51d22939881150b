"""One job of the two-core benchmark: a fixed number of collapsed rows, in a process of its own."""

from attention_scaling import backends
from attention_scaling.bench.sampling import COLLAPSED_ROWS, top_weights

if __name__ == "__main__":
    backend = backends.load("numpy")
    for _ in range(60):
        top_weights(backend, "collapsed", COLLAPSED_ROWS)
