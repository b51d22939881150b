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


class NoPandas:
    """A finder of modules that finds no pandas.

    pyarrow would import pandas to ask it whether a list is a Series, which costs many jobs more than their work.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Refuse pandas, leave the rest to the other finders."""
        if name == "pandas":
            raise ModuleNotFoundError("jobs do without pandas", name=name)


if sys.argv[1:2] in (["run"], ["exact"]):
    sys.meta_path.insert(0, NoPandas)

from attention_scaling.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
