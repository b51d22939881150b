"""Settings that all tests share."""

import os

# As the command line does: one thread a process, set before any library is imported.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

from hypothesis import settings  # noqa: E402

# Timings are no matter of tests, and a failure must come back when it is run again.
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
