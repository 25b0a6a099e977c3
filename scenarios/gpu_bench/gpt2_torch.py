#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT-2 of the given sizes with PyTorch on made-up tokens, with fused AdamW, and prints a
line `tokens/s NUMBER HOW` for each of several ways as soon as it is known: what `orrery gpu-bench`
compares itself with, the fastest of them. The ways:

  autocast       fp32 weights, cast to bf16 for every micro-batch
  bf16 weights   with fp32 master copies; gradients of the micro-batches are summed in bf16
  cuDNN          the faster of the two with cuDNN's attention

each with torch.compile unless --eager is given. An error of one way is printed and does not end the
others."""
import argparse
import contextlib
import sys
import time
import traceback


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("layers", "hidden", "heads", "sequence", "vocabulary", "micro", "batch", "steps"):
        parser.add_argument("--" + name, type=int, required=True)
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    return parser.parse_args()


def make_model(torch, a):
    nn = torch.nn
    functional = torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(a.hidden)
            self.qkv = nn.Linear(a.hidden, 3 * a.hidden)
            self.projection = nn.Linear(a.hidden, a.hidden)
            self.norm2 = nn.LayerNorm(a.hidden)
            self.fc1 = nn.Linear(a.hidden, 4 * a.hidden)
            self.fc2 = nn.Linear(4 * a.hidden, a.hidden)

        def forward(self, x):
            batch, sequence, _ = x.shape
            heads = [
                t.view(batch, sequence, a.heads, -1).transpose(1, 2)
                for t in self.qkv(self.norm1(x)).split(a.hidden, dim=2)
            ]
            y = functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.projection(y.transpose(1, 2).reshape(batch, sequence, a.hidden))
            return x + self.fc2(functional.gelu(self.fc1(self.norm2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(a.vocabulary, a.hidden)
            self.positions = nn.Embedding(a.sequence, a.hidden)
            self.blocks = nn.ModuleList(Block() for _ in range(a.layers))
            self.norm = nn.LayerNorm(a.hidden)
            self.head = nn.Linear(a.hidden, a.vocabulary, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, ids, labels):
            x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x))
            return functional.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())

    return Gpt().cuda()


class Training:
    """One way to train: `step` is a whole step with all its micro-batches."""

    def __init__(self, torch, a, bf16_weights: bool) -> None:
        self.torch = torch
        self.a = a
        torch.manual_seed(1)
        model = make_model(torch, a)
        self.masters = None
        self.weights = list(model.parameters())
        if bf16_weights:
            self.masters = [w.detach().clone() for w in self.weights]
            model.bfloat16()
            self.weights = list(model.parameters())
        self.autocast = not bf16_weights
        self.model = model if a.eager else torch.compile(model)
        self.optimizer = torch.optim.AdamW(
            self.masters or self.weights, lr=1e-4, betas=(0.9, 0.95), fused=True)
        self.ids = torch.randint(a.vocabulary, (a.micro, a.sequence + 1), device="cuda")

    def step(self) -> None:
        torch = self.torch
        accumulate = self.a.batch // self.a.micro
        for _ in range(accumulate):
            cast = (torch.autocast("cuda", dtype=torch.bfloat16)
                    if self.autocast else contextlib.nullcontext())
            with cast:
                loss = self.model(self.ids[:, :-1], self.ids[:, 1:]) / accumulate
            loss.backward()
        if self.masters is not None:
            for master, weight in zip(self.masters, self.weights):
                master.grad = weight.grad.float()
        torch.nn.utils.clip_grad_norm_(self.masters or self.weights, 1.0)
        self.optimizer.step()
        if self.masters is not None:
            torch._foreach_copy_([w.data for w in self.weights], self.masters)
            for weight in self.weights:
                weight.grad = None
        self.optimizer.zero_grad(set_to_none=True)


def tokens_per_second(torch, a, bf16_weights: bool) -> float:
    training = Training(torch, a, bf16_weights)
    begin = time.perf_counter()
    training.step()
    torch.cuda.synchronize()
    print(f"  first step, with compilation: {time.perf_counter() - begin:.1f} s")
    seconds = []
    for i in range(2 + a.steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        training.step()
        torch.cuda.synchronize()
        if i >= 2:
            seconds.append(time.perf_counter() - begin)
    return a.batch * a.sequence / sorted(seconds)[len(seconds) // 2]


def main() -> int:
    a = arguments()
    try:
        import torch
    except ImportError as error:
        print(f"no torch: {error}")
        return 3
    if not torch.cuda.is_available():
        print("torch sees no GPU")
        return 3
    print(f"torch {torch.__version__}, CUDA {torch.version.cuda}, "
          f"cuDNN {torch.backends.cudnn.version()}", flush=True)
    torch.set_float32_matmul_precision("high")
    compiled = "eager" if a.eager else "compiled"
    best: dict[str, float] = {}

    def measure(how: str, bf16_weights: bool) -> None:
        try:
            rate = tokens_per_second(torch, a, bf16_weights)
            best[how] = rate
            print(f"tokens/s {rate:.0f} {how}, {compiled}", flush=True)
        except Exception:  # another way may still work
            traceback.print_exc()
        torch.compiler.reset()
        torch.cuda.empty_cache()

    measure("autocast", False)
    measure("bf16 weights", True)
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError as error:
        print(f"no choice of attention: {error}")
    else:
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            faster = max(best, key=best.get, default="autocast")
            measure(f"{faster}, cuDNN attention", faster == "bf16 weights")
    return 0 if best else 4


if __name__ == "__main__":
    sys.exit(main())
