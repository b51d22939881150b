"""PyTorch's own `scaled_dot_product_attention`, forward and backward, under one kernel at a time.

PyTorch picks a kernel by itself and falls back silently; here the kernel is named, and one that does not take the
call says why. What a kernel may be asked is what `attention` defines: masks, `causal`, `scale`.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_scaling.attention_arguments import check_attention, check_output_gradient
from attention_scaling.errors import UserError

KERNELS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


@dataclass(frozen=True)
class KernelResult:
    """The output and the gradients dQ, dK, dV of one kernel, or PyTorch's reason why it did not run."""

    output: torch.Tensor | None = None
    gradients: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None
    unavailable: str | None = None


def run_kernel(
    kernel: str,
    Q: torch.Tensor,
    K: torch.Tensor,
    V: torch.Tensor,
    dO: torch.Tensor,
    *,
    mask: torch.Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
) -> KernelResult:
    """Run one of `KERNELS` forward, and backward by autograd from `dO`; at most two leading dimensions.

    Shapes and the meaning of the arguments are those of `attention.attention_backward`; `dropout` is the share of
    weights that PyTorch sets to zero at random. `UserError` for arguments that no kernel can take.
    """
    if kernel not in KERNELS:
        raise UserError(f"kernel {kernel!r}: allowed are {', '.join(KERNELS)}")
    check_output_gradient(check_attention(Q, K, V, mask=mask, causal=causal, scale=scale), dO)
    inputs = [_four_dimensional(array).requires_grad_() for array in (Q, K, V)]
    with warnings.catch_warnings(record=True) as caught, sdpa_kernel(KERNELS[kernel]):
        warnings.simplefilter("always")
        try:
            output = torch.nn.functional.scaled_dot_product_attention(
                *inputs,
                attn_mask=None if mask is None else _four_dimensional(mask),
                dropout_p=dropout,
                is_causal=causal,
                scale=scale,
            )
            gradients = torch.autograd.grad(output, inputs, _four_dimensional(dO))
        except RuntimeError as error:
            return KernelResult(unavailable=_reason([str(w.message) for w in caught], error))
    dQ, dK, dV = (
        gradient.reshape(array.shape) for gradient, array in zip(gradients, (Q, K, V), strict=True)
    )
    return KernelResult(output.detach().reshape(dO.shape), (dQ, dK, dV))


def _four_dimensional(array: torch.Tensor) -> torch.Tensor:
    """A view of shape (batch, heads, positions, width): the fused kernels take no other."""
    return array.detach()[(None,) * (4 - array.ndim)]


def _reason(messages: list[str], error: RuntimeError) -> str:
    """What PyTorch said, in one line, without the places in its own source that it adds."""
    said = [re.sub(r"\s*\(Triggered internally at [^)]*\)", "", text) for text in messages]
    return " ".join(" ".join([*said, str(error)]).split())
