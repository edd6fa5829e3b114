"""Kernels are interpreted where there is no GPU: said before any module of the kit imports Triton.

The interpreter is right in FP32 alone (it truncates to BF16), so tests here stay in FP32; tests/gpu has BF16.
"""

import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
