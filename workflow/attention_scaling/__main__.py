"""`python -m attention_scaling STAGE ...`: one BLAS thread a process, then the command line."""

import os
import sys

# Set before any library is imported: with one thread a job, sums run in one order and results are bitwise equal
# however many cores there are. Jobs are what runs side by side.
for variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
):
    os.environ[variable] = "1"

from attention_scaling.cli import main  # noqa: E402

if __name__ == "__main__":
    if sys.argv[1:2] in (["run"], ["exact"]):
        from attention_scaling.arrow_alone import leave_pandas_out

        leave_pandas_out()
    sys.exit(main())
