#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch gets of this GPU: a copy in its memory and one large product. The yardstick for the
rates of one's own kernels."""
import sys


def main() -> int:
    try:
        import torch
    except ImportError as error:
        print(f"no torch: {error}")
        return 3
    print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, GPU {torch.cuda.is_available()}")
    if not torch.cuda.is_available():
        return 3

    def median_s(work) -> float:
        times = []
        for _ in range(12):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1e-3)
        return sorted(times[2:])[5]

    source = torch.empty(1 << 31, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    rate = 2 * source.numel() / median_s(lambda: target.copy_(source))
    print(f"copy of 2 GiB: {rate * 1e-12:.2f} TB/s, read and written")
    n = 8192
    a, b = (torch.randn(n, n, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    print(f"bf16 product of {n}^3: {2 * n**3 / median_s(lambda: a @ b) * 1e-12:.0f} TFLOP/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
