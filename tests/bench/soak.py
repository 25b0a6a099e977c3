#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds many streams on the endpoint of `orrery serve --real` beside hostile clients.

    tests/bench/soak.py [SECONDS [STREAMS [FILE]]]

STREAMS clients (default 64) stream completions one after the other for SECONDS (default 600).
Beside them others ask for more than the limits allow, hang up in the middle, send torn, giant and
endless requests. Greedy texts of equal prompts must be equal, no stream may break, every refusal
must have its status, and in the end all blocks of the cache must be free and the server must end
as it was told.
"""
import asyncio
import collections
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPTS = 32  # texts that are asked for again and again
counts = collections.Counter()
texts = {}
wrong = []
gaps = []
holds = []  # lines about the server's memory, files and threads


def body_of(number: int, stream: bool = True) -> dict:
    kind = number % PROMPTS
    return {"prompt": f"{kind} " * (1 + kind), "max_tokens": 40 + 3 * kind, "temperature": 0,
            "stream": stream, "stream_options": {"include_usage": True}}


def request(body: bytes, path: str = "/v1/completions", length: int | None = None) -> bytes:
    return (f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: "
            f"application/json\r\nContent-Length: {len(body) if length is None else length}"
            "\r\n\r\n").encode() + body


async def answer_to(port: int, sent: bytes) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(), 60)
    finally:
        writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    words = head.split()
    return (int(words[1]) if len(words) > 1 else 0), rest


def check_stream(number: int, rest: bytes) -> None:
    events = [line[6:] for line in rest.split(b"\n") if line.startswith(b"data: ")]
    if not events or events[-1].strip() != b"[DONE]":
        wrong.append(f"stream {number} broke off after {len(events)} events")
        return
    parsed = [json.loads(event) for event in events[:-1]]
    text = "".join(one["choices"][0]["text"] for one in parsed if one["choices"])
    usage = parsed[-1]["usage"]["completion_tokens"]
    asked = body_of(number)["max_tokens"]
    if usage != asked:
        wrong.append(f"stream {number} has {usage} tokens instead of {asked}")
    if texts.setdefault(number % PROMPTS, text) != text:
        wrong.append(f"prompt {number % PROMPTS} got another text")
    counts["streams"] += 1
    counts["tokens"] += usage


async def stream_on(port: int, client: int, end: float) -> None:
    number = client
    while time.monotonic() < end:
        begin = time.monotonic()
        try:
            status, rest = await answer_to(port, request(json.dumps(body_of(number)).encode()))
        except (OSError, asyncio.TimeoutError) as error:
            wrong.append(f"stream {number}: {error!r}")
            continue
        if status == 429:
            counts["refused streams, sent again"] += 1
            await asyncio.sleep(0.2)
            continue
        if status != 200:
            wrong.append(f"stream {number} has status {status}")
            continue
        gaps.append(time.monotonic() - begin)
        check_stream(number, rest)
        number += 7


async def expect(port: int, what: str, sent: bytes, statuses: set[int]) -> None:
    try:
        status, _ = await answer_to(port, sent)
    except (OSError, asyncio.TimeoutError) as error:
        status = 0
        if 0 not in statuses:
            wrong.append(f"{what}: {error!r}")
            return
    counts[f"{what}: {status}"] += 1
    if status not in statuses:
        wrong.append(f"{what} has status {status}")


async def over_limits(port: int, end: float) -> None:
    small = json.dumps(body_of(1, False)).encode()
    while time.monotonic() < end:
        await expect(port, "4,000 tokens", request(b'{"prompt": "a", "max_tokens": 4000}'), {400})
        await expect(port, "half a JSON", request(b'{"prompt": "a", "max_'), {400})
        await expect(port, "2 MiB", request(b"x" * (2 << 20)), {413, 0})
        await expect(port, "another path", request(b"{}", "/v1/nothing"), {404})
        await asyncio.gather(*(expect(port, "burst", request(small), {200, 429})
                               for _ in range(24)))
        await asyncio.sleep(5)


async def hang_up(port: int, end: float) -> None:
    number = 0
    while time.monotonic() < end:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        sent = request(json.dumps(body_of(31)).encode())
        number += 1
        # After the request, or somewhere within it.
        writer.write(sent if number % 2 else sent[:number % len(sent)])
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.transport.abort()
        counts["hang-ups"] += 1
        await asyncio.sleep(0.3)


async def crawl(port: int, end: float) -> None:
    """A header without an end, a byte at a time."""
    while time.monotonic() < end:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /v1/completions HTTP/1.1\r\nX: ")
            for _ in range(30):
                writer.write(b"a")
                await writer.drain()
                await asyncio.sleep(1)
            writer.transport.abort()
        except OSError:
            pass
        counts["crawling headers"] += 1


def held(pid: int) -> tuple[float, int, int]:
    """MiB of memory, files and threads of a process."""
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return (pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task")))


async def watch(pid: int, seconds: float, end: float) -> None:
    """What the server holds in each fifth of the time. A leak makes each more than the last."""
    most = [(0.0, 0, 0)] * 5
    while (left := end - time.monotonic()) > 0:
        fifth = min(4, int(5 * (1 - left / seconds)))
        try:
            most[fifth] = tuple(map(max, most[fifth], held(pid)))
        except OSError:
            return
        await asyncio.sleep(0.5)
    for name, values in zip(("MiB of memory", "open files", "threads"), zip(*most)):
        holds.append(f"{name + ' at most, by fifths':32} "
                     + "  ".join(f"{value:.0f}" for value in values))


async def soak(port: int, pid: int, seconds: float, streams: int) -> dict:
    end = time.monotonic() + seconds
    await asyncio.gather(*(stream_on(port, i, end) for i in range(streams)),
                         over_limits(port, end), hang_up(port, end), watch(pid, seconds, end),
                         *(crawl(port, end) for _ in range(4)))
    await asyncio.sleep(1)  # what was cancelled leaves
    asked = b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    _, rest = await answer_to(port, asked)
    return dict(line.rsplit(b" ", 1) for line in rest.splitlines() if line[:1] not in (b"#", b""))


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600
    streams = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    file = sys.argv[3] if len(sys.argv) > 3 else "scenarios/serve-tiny-cpu.yaml"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [os.environ.get("ORRERY", str(ROOT / "orrery")), "serve", "--real",
         file, "--listen", f"127.0.0.1:{port}",
         "--max-queue", str(streams + 8)], cwd=ROOT)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.1)
    metrics = asyncio.run(soak(port, server.pid, seconds, streams))
    died = server.poll() is not None
    server.send_signal(signal.SIGTERM)
    status = server.wait(60)
    # Of several processes the launcher says that the signal ended it.
    if died or status not in (0, 128 + signal.SIGTERM):
        wrong.append(f"the server ended with {status}")
    if metrics[b"orrery_cache_blocks"] != metrics[b"orrery_cache_blocks_free"]:
        wrong.append("blocks of the cache are not free")
    gaps.sort()
    for what, count in sorted(counts.items()):
        print(f"{what:32} {count:12,}")
    print(f"{'tokens a second':32} {counts['tokens'] / seconds:12,.0f}")
    print(f"{'median of a stream, s':32} {gaps[len(gaps) // 2]:12.3f}")
    print(f"{'longest stream, s':32} {gaps[-1]:12.3f}")
    for name, value in sorted(metrics.items()):
        print(f"{name.decode():32} {value.decode():>12}")
    for line in holds:
        print(line)
    for one in wrong[:20]:
        print("WRONG:", one)
    print(f"{len(wrong)} things went wrong in {seconds:.0f} s with {streams} streams")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
