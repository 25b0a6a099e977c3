#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a GPT-2 of the given sizes with PyTorch and torch.compile on made-up tokens, in bf16 with
fused AdamW, and prints `tokens/s <number>`: what `orrery gpu-bench` compares itself with."""
import argparse
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("layers", "hidden", "heads", "sequence", "vocabulary", "micro", "batch", "steps"):
        parser.add_argument("--" + name, type=int, required=True)
    a = parser.parse_args()
    try:
        import torch
        from torch import nn
        from torch.nn import functional as F
    except ImportError:
        print("no torch")
        return 3
    if not torch.cuda.is_available():
        print("torch sees no GPU")
        return 3

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
            y = F.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.projection(y.transpose(1, 2).reshape(batch, sequence, a.hidden))
            return x + self.fc2(F.gelu(self.fc1(self.norm2(x)), approximate="tanh"))

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
            return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())

    torch.manual_seed(1)
    torch.set_float32_matmul_precision("high")
    model = torch.compile(Gpt().cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), fused=True)
    ids = torch.randint(a.vocabulary, (a.micro, a.sequence + 1), device="cuda")
    accumulate = a.batch // a.micro

    def step() -> None:
        for _ in range(accumulate):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(ids[:, :-1], ids[:, 1:]) / accumulate
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    seconds = []
    for i in range(3 + a.steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        if i >= 3:
            seconds.append(time.perf_counter() - begin)
    median = sorted(seconds)[len(seconds) // 2]
    print(f"tokens/s {a.batch * a.sequence / median:.0f}")
    print(f"torch {torch.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
