"""What a softmax makes of rows of scores: the statistics that the saturation experiments average.

Scores come as (n_keys, ...) with the keys along the first axis. All statistics follow from the shifted
exponentials x_j = exp(s_j - max s), so a row is exponentiated once whatever is asked of it.
"""

from __future__ import annotations

from collections.abc import Collection

from attention_scaling.backends import Array, Backend

CLOSED_WEIGHT = 0.9
"""A row counts as closed when its largest weight is above this."""

SECULAR_STEPS = 4
"""Steps to the largest eigenvalue: the third already leaves an error below 1e-13."""

_SMALLEST_GAP = 1e-100  # keeps the poles apart where weights are equal or the others vanish


def statistics(backend: Backend, scores: Array, names: Collection[str]) -> dict[str, Array]:
    """The statistics `names` of each row; each of the shape of `scores` without its first axis, float64.

    `top_weight` is the largest weight max a; `aligned_weight` the weight of key 0; `closed_share` is 1 where
    the largest weight exceeds `CLOSED_WEIGHT`, else 0; `capacity` is 1 - sum a^2, the trace of the softmax
    Jacobian; `top_derivative` is the largest a (1 - a), which always stands at the largest a, since every other
    weight is at most 1 - max a; `entropy` is -sum a log a in nats; `top_eigenvalue` is the largest eigenvalue of
    diag(a) - a a^T. Overwrites `scores`.
    """
    xp = backend.xp
    scores -= xp.max(scores, axis=0)
    # The entropy needs the shifted scores themselves, beside their exponentials.
    shifted = xp.asarray(scores, copy=True) if "entropy" in names else None
    exponentials = backend.exp_in_place(scores)
    total = xp.sum(exponentials, axis=0)
    # The largest exponential is exp(0) = 1.
    top = 1 / xp.astype(total, xp.float64)
    found: dict[str, Array] = {}
    if "top_weight" in names:
        found["top_weight"] = top
    if "aligned_weight" in names:
        found["aligned_weight"] = top * xp.astype(exponentials[0, ...], xp.float64)
    if "closed_share" in names:
        found["closed_share"] = xp.astype(top > CLOSED_WEIGHT, xp.float64)
    if "top_derivative" in names:
        found["top_derivative"] = top * (1 - top)
    if shifted is not None:
        weighted = xp.astype(xp.sum(exponentials * shifted, axis=0), xp.float64)
        found["entropy"] = xp.log(1 / top) - weighted * top
    if "capacity" in names or "top_eigenvalue" in names:
        weights = exponentials
        weights /= total
        if "capacity" in names:
            found["capacity"] = 1 - xp.astype(xp.sum(weights * weights, axis=0), xp.float64)
        if "top_eigenvalue" in names:
            found["top_eigenvalue"] = top_eigenvalue(backend, xp.astype(weights, xp.float64))
    return found


def top_eigenvalue(backend: Backend, weights: Array) -> Array:
    """The largest eigenvalue of diag(a) - a a^T for weights of shape (n_keys, ...), float64, to rounding.

    Diagonal minus rank one: the eigenvalues solve the secular equation 1 = sum_j a_j^2 / (a_j - x), and the
    largest lies between the two largest weights (Golub, "Some modified matrix eigenvalue problems", 1973,
    section 5). Newton's idea with a pole for a line: all terms but the largest weight's are replaced by
    r - s / t, t being the distance of x from the second weight, with their value and slope where t stands; the
    equation is then quadratic in t (Bunch, Nielsen and Sorensen, "Rank-one modification of the symmetric
    eigenproblem", 1978).
    """
    xp = backend.xp
    ordered = xp.sort(weights, axis=0)
    top, others = ordered[-1, ...], ordered[:-1, ...]
    if weights.shape[0] == 1:
        return xp.zeros_like(top)
    second = others[-1, ...]
    span = top - second
    below_second = second - others
    squares = others * others
    t = xp.clip(span / 2, min=_SMALLEST_GAP)
    for _ in range(SECULAR_STEPS):
        gaps = below_second + t
        slopes = squares / gaps / gaps
        s = xp.sum(slopes, axis=0) * t * t
        one_less_r = 1 + xp.sum(slopes * below_second, axis=0)
        # one_less_r t^2 + b t - s span = 0; its positive root, without cancellation.
        b = top * top + s - one_less_r * span
        q = xp.abs(b) + xp.sqrt(b * b + 4 * one_less_r * s * span)
        q = xp.clip(q, min=_SMALLEST_GAP)
        t = xp.where(b > 0, 2 * s * span / q, q / (2 * one_less_r))
        t = xp.clip(t, min=_SMALLEST_GAP)
    return second + t
