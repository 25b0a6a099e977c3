// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/machine_probe.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/base/scratch_folder.h"
#include "engine/base/statistics.h"
#include "kernels/gemm/gemm_cpu.h"
#include "runtime/communication/gloo_transport.h"
#include "runtime/communication/tcp_store.h"

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

template <class Work>
double seconds_of(const Work& work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <class Work>
double best_of(int tries, const Work& work) {
    double best = seconds_of(work);
    for (int i = 1; i < tries; ++i) {
        best = std::min(best, seconds_of(work));
    }
    return best;
}

FlopRate gemm_rate() {
    constexpr std::int64_t kSize = 512;
    std::vector<float> a(kSize * kSize, 1.5f);
    std::vector<float> b(kSize * kSize, 0.5f);
    std::vector<float> c(kSize * kSize);
    const double seconds = best_of(10, [&] {
        cpu::gemm({.m = kSize, .n = kSize, .k = kSize},
                  view_of(std::span{a}),
                  view_of(std::span{b}),
                  view_of(std::span{c}),
                  {});
    });
    return FlopRate::per_second(2.0 * kSize * kSize * kSize / seconds);
}

Bandwidth copy_rate() {
    constexpr std::size_t kBytes = std::size_t{64} << 20;
    std::vector<std::byte> from(kBytes, std::byte{1});
    std::vector<std::byte> to(kBytes, std::byte{2});
    const double seconds = best_of(6, [&] { std::memcpy(to.data(), from.data(), kBytes); });
    return Bandwidth::bytes_per_second(static_cast<std::int64_t>(2.0 * kBytes / seconds));
}

// Sends and receives `bytes` on both sides.
Result<void> exchange(Transport& transport,
                      std::vector<std::byte>& out,
                      std::vector<std::byte>& in) {
    const std::uint32_t peer = 1 - transport.rank();
    const std::array<Message, 2> messages{
        Message{.is_send = true, .peer = peer, .tag = 1, .bytes = out},
        Message{.is_send = false, .peer = peer, .tag = 1, .bytes = in}};
    return transport.exchange(messages);
}

// The shortest of several exchanges of `bytes`; the other side calls the same function.
Result<double> exchange_seconds(Transport& transport, std::size_t bytes, int tries) {
    std::vector<std::byte> out(bytes);
    std::vector<std::byte> in(bytes);
    Result<void> done;
    const double best = best_of(tries, [&] { done = done ? exchange(transport, out, in) : done; });
    if (!done) {
        return unexpected<Error>(done.error());
    }
    return best;
}

Result<void> talk(const std::string& folder, std::uint32_t rank, MachineRates& rates) {
    auto transport = connect_gloo({.rank = rank,
                                   .num_ranks = 2,
                                   .store_folder = folder,
                                   .timeout = std::chrono::seconds{10}});
    if (!transport) {
        return unexpected<Error>(transport.error());
    }
    constexpr std::size_t kLarge = std::size_t{8} << 20;
    const Result<double> small = exchange_seconds(**transport, 4, 200);
    const Result<double> large = small ? exchange_seconds(**transport, kLarge, 8) : small;
    if (!large) {
        return unexpected<Error>(large.error());
    }
    if (rank == 0) {
        rates.message_latency = Time::seconds(*small);
        rates.message_bandwidth =
            Bandwidth::bytes_per_second(static_cast<std::int64_t>(kLarge / *large));
    }
    return {};
}

// The time until the last of `processes` is connected with all others.
Result<double> meeting_seconds(std::uint32_t processes) {
    const auto store = TcpStoreServer::start("127.0.0.1", 0);
    if (!store) {
        return unexpected<Error>(store.error());
    }
    const std::uint16_t port = (*store)->port();
    std::vector<Result<std::unique_ptr<Transport>>> met(processes);
    std::vector<std::thread> threads;
    const auto begin = Clock::now();
    for (std::uint32_t rank = 0; rank < processes; ++rank) {
        threads.emplace_back([&met, rank, processes, port] {
            met[rank] = connect_gloo({.rank = rank,
                                      .num_ranks = processes,
                                      .store_folder = {},
                                      .store_host = "127.0.0.1",
                                      .store_port = port,
                                      .timeout = std::chrono::seconds{10}});
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    for (const auto& one : met) {
        if (!one) {
            return unexpected<Error>(one.error());
        }
    }
    return seconds;
}

}  // namespace

Result<Time> probe_meeting(std::uint32_t processes) {
    constexpr std::uint32_t kMost = 8;
    const auto pairs = [](std::uint32_t n) { return 0.5 * n * (n - 1.0); };
    const std::uint32_t few = std::min(processes, kMost);
    if (few < 2) {
        return Time{};
    }
    std::vector<double> times(5);
    for (double& time : times) {
        const Result<double> seconds = meeting_seconds(few);
        if (!seconds) {
            return unexpected<Error>(seconds.error());
        }
        time = *seconds;
    }
    return Time::seconds(median(std::move(times)) * pairs(processes) / pairs(few));
}

// Two threads, each with its own transport, talk through sockets as two processes do.
Result<MachineRates> probe_machine() {
    MachineRates rates{.gemm_fp32 = gemm_rate(), .memory = copy_rate()};
    const Result<ScratchFolder> scratch = ScratchFolder::make("orrery-probe");
    if (!scratch) {
        return unexpected<Error>(scratch.error());
    }
    const std::string folder = scratch->path().string();
    Result<void> other;
    std::thread thread{[&] { other = talk(folder, 1, rates); }};
    const Result<void> done = talk(folder, 0, rates);
    thread.join();
    if (!done || !other) {
        return unexpected<Error>(!done ? done.error() : other.error());
    }
    return rates;
}

}  // namespace orrery
