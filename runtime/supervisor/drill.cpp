// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/drill.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <thread>

namespace orrery {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLargeMessage = 1024;  // bytes; smaller messages are scalars

Clock::time_point end_of(const FaultEvent& fault) {
    const WallTime lasts = fault.duration > WallTime{} ? fault.duration : WallTime::hours(1);
    return Clock::now() + std::chrono::microseconds{lasts.microseconds()};
}

}  // namespace

Result<void> check_injectable(const FaultEvent& event) {
    switch (event.kind) {
        case FaultKind::node_crash:
        case FaultKind::host_fault:
        case FaultKind::gpu_hang:
        case FaultKind::software_bug:
        case FaultKind::slow_gpu:
        case FaultKind::slow_host:
        case FaultKind::slow_nic:
        case FaultKind::nic_down:
        case FaultKind::silent_corruption:
        case FaultKind::store_outage:
        case FaultKind::store_full:
        case FaultKind::store_slow:
        case FaultKind::torn_checkpoint:
            break;
        default:
            return fail("faults",
                        fmt::format("{} can't be injected into a real run", name(event.kind)),
                        "node_crash, host_fault, gpu_hang, software_bug, slow_gpu, slow_host, "
                        "slow_nic, nic_down, silent_corruption, store_outage, store_full, "
                        "store_slow or torn_checkpoint");
    }
    if (event.step < 0) {
        return fail(
            "faults",
            fmt::format("{} of a drill needs the step that it comes after", name(event.kind)),
            "step: 12");
    }
    return {};
}

class Drill::Harmed final : public Transport {
public:
    Harmed(Harm& harm, std::unique_ptr<Transport> transport)
        : harm_(harm), transport_(std::move(transport)) {}
    std::uint32_t rank() const override { return transport_->rank(); }
    std::uint32_t num_ranks() const override { return transport_->num_ranks(); }
    Result<void> exchange(std::span<const Message> messages) override {
        if (harm_.cut && !messages.empty()) {
            return unreachable(messages.front());
        }
        for (const Message& message : messages) {
            if (harm_.flip && message.is_send && message.bytes.size() >= kLargeMessage) {
                return exchange_flipped(messages);
            }
        }
        const auto begin = Clock::now();
        Result<void> done = transport_->exchange(messages);
        if (harm_.slow_messages > 1) {
            std::this_thread::sleep_for((Clock::now() - begin) * (harm_.slow_messages - 1));
        }
        return done;
    }
    Result<void> post_send(const Message& message) override {
        return harm_.cut ? unreachable(message) : transport_->post_send(message);
    }
    Result<void> flush() override { return transport_->flush(); }

private:
    Result<void> unreachable(const Message& message) const {
        // The report of a node's own agent whose adapter has no link.
        return fail({.where = fmt::format("rank {}", rank()),
                     .what = fmt::format("rank {} is cut off: {} rank {} failed",
                                         rank(),
                                         message.is_send ? "sending to" : "receiving from",
                                         message.peer),
                     .cause = ErrorCause::lost_peer,
                     .peer = rank()});
    }
    // Flips the highest bit of a number's exponent.
    Result<void> exchange_flipped(std::span<const Message> messages) {
        harm_.flip = false;
        std::vector<Message> changed{messages.begin(), messages.end()};
        std::vector<std::byte> copy;
        for (Message& message : changed) {
            if (message.is_send && message.bytes.size() >= kLargeMessage) {
                copy.assign(message.bytes.begin(), message.bytes.end());
                copy[3] ^= std::byte{0x40};
                message.bytes = copy;
                break;
            }
        }
        return transport_->exchange(changed);
    }
    Harm& harm_;
    std::unique_ptr<Transport> transport_;
};

class Drill::Store final : public FileSystem {
public:
    explicit Store(Harm& harm) : harm_(harm) {}
    Result<void> create_folder(const Path& path) override {
        return down() ? refused(path) : disk().create_folder(path);
    }
    Result<void> write_file(const Path& path, const Pieces& pieces) override {
        if (down()) {
            return refused(path);
        }
        const bool full = Clock::now() < harm_.full_until;
        if (full || harm_.tear) {
            harm_.tear = false;
            const Result<void> half = write_half(path, pieces);
            return full ? fail(path.string(), "can't be written: No space left on device") : half;
        }
        const auto begin = Clock::now();
        Result<void> done = disk().write_file(path, pieces);
        if (begin < harm_.busy_until) {
            std::this_thread::sleep_for((Clock::now() - begin) * (harm_.slow_store - 1));
        }
        return done;
    }
    Result<void> rename(const Path& from, const Path& to) override {
        return down() ? refused(from) : disk().rename(from, to);
    }
    Result<void> remove(const Path& path) override {
        return down() ? Result<void>{} : disk().remove(path);
    }

private:
    bool down() const { return Clock::now() < harm_.down_until; }
    static Result<void> write_half(const Path& path, const Pieces& pieces) {
        std::size_t left = 0;
        for (const auto& piece : pieces) {
            left += piece.size();
        }
        left /= 2;
        Pieces half;
        for (const auto& piece : pieces) {
            half.push_back(piece.first(std::min(left, piece.size())));
            left -= half.back().size();
        }
        return disk().write_file(path, half);
    }
    static Result<void> refused(const Path& path) {
        return fail(path.string(), "the checkpoint store does not answer");
    }
    Harm& harm_;
};

Drill::Drill(Member& member,
             std::vector<FaultEvent> faults,
             std::uint32_t rank,
             const std::vector<std::uint32_t>& struck,
             const std::vector<std::uint32_t>& lasting)
    : member_(member),
      faults_(std::move(faults)),
      rank_(rank),
      struck_(faults_.size()),
      store_(std::make_unique<Store>(harm_)) {
    for (const std::uint32_t index : struck) {
        if (index < struck_.size()) {
            struck_[index] = true;
        }
    }
    for (const std::uint32_t index : lasting) {
        if (index < faults_.size()) {
            slow_down(faults_[index]);
        }
    }
}

// The faults that a new process does not cure.
void Drill::slow_down(const FaultEvent& fault) {
    const double factor = fault.factor > 0 ? fault.factor : info(fault.kind).slowdown;
    if (fault.kind == FaultKind::slow_nic) {
        harm_.slow_messages = factor;
    } else if (fault.kind == FaultKind::slow_gpu || fault.kind == FaultKind::slow_host) {
        slow_ = factor;
    }
}

std::unique_ptr<Transport> Drill::harm(std::unique_ptr<Transport> transport) {
    return transport == nullptr ? nullptr : std::make_unique<Harmed>(harm_, std::move(transport));
}

Result<void> Drill::before_step(std::int64_t steps_done) {
    for (std::uint32_t i = 0; i < faults_.size(); ++i) {
        const FaultEvent& fault = faults_[i];
        const bool own = fault.nodes.count == 0 ? rank_ == 0 : fault.nodes.first == member_.node();
        if (!own || struck_[i] || fault.step != steps_done) {
            continue;
        }
        struck_[i] = true;
        if (Result<void> done = strike(fault, steps_done, i); !done) {
            return done;
        }
    }
    return {};
}

Result<void> Drill::strike(const FaultEvent& fault, std::int64_t step, std::uint32_t index) {
    member_.tell(ReportKind::fault, step, index, std::string{name(fault.kind)});
    const double factor = fault.factor > 0 ? fault.factor : info(fault.kind).slowdown;
    switch (fault.kind) {
        case FaultKind::node_crash:
            kill(getpid(), SIGKILL);
            pause();
            return {};
        case FaultKind::host_fault:
            kill(getpid(), SIGSTOP);
            return {};
        case FaultKind::gpu_hang:
            for (;;) {
                pause();
            }
        case FaultKind::software_bug:
            return fail("drill", "a bug, as the drill wants it");
        case FaultKind::nic_down:
            harm_.cut = true;
            return {};
        case FaultKind::silent_corruption:
            harm_.flip = true;
            return {};
        case FaultKind::store_outage:
            harm_.down_until = end_of(fault);
            return {};
        case FaultKind::store_full:
            harm_.full_until = end_of(fault);
            return {};
        case FaultKind::store_slow:
            harm_.busy_until = end_of(fault);
            harm_.slow_store = factor;
            return {};
        case FaultKind::torn_checkpoint:
            harm_.tear = true;
            return {};
        default:
            slow_down(fault);
            return {};
    }
}

void Drill::after_step(std::chrono::microseconds computed) const {
    if (slow_ > 1) {
        std::this_thread::sleep_for(computed * (slow_ - 1));
    }
}

}  // namespace orrery
