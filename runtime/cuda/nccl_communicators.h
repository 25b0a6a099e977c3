// SPDX-License-Identifier: Apache-2.0
// The NCCL communicators of a rank. Every wait for the other ranks is bounded by a deadline. When
// anything goes wrong, here or (as NCCL tells) at another rank, all of this rank's communicators
// are aborted, which is what lets the others' kernels end: they run into their own deadlines or
// into NCCL's remote error, and abort as well. No call is made on a communicator after that.
// One thread makes all calls, so no call is in progress when it aborts. At a good end communicators
// are finalized and destroyed: over sockets a proxy may still send what the last kernel left it,
// and an abort would cut that off (NCCL user guide, "Destroying a communicator").
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "runtime/communication/transport.h"
#include "runtime/cuda/nccl_library.h"

namespace orrery {

// How long to wait, by which clock, and what to do between two looks. Most waits are short, and a
// sleep costs some 75 us with the timer's slack: a wait pauses only after it has looked for `spin`.
struct Patience {
    using Clock = std::chrono::steady_clock;
    std::chrono::milliseconds deadline{120'000};
    std::chrono::microseconds spin{0};
    std::function<Clock::time_point()> now = [] { return Clock::now(); };
    std::function<void()> pause;  // null: look again at once

    // Whether `done` came true in time.
    bool wait_until(const std::function<bool()>& done) const;
};

class NcclCommunicators {
public:
    // Of every communicator that the Program's ops use and this rank is a member of; all ranks call
    // it at the same time. Unique ids travel over `transport`.
    static Result<std::unique_ptr<NcclCommunicators>> create(
        NcclLibrary& library,
        const std::vector<NcclMembers>& communicators,
        Transport& transport,
        Patience patience);
    // Finalizes and destroys the communicators, unless something went wrong or a rank does not
    // answer: then they are aborted.
    ~NcclCommunicators();
    NcclCommunicators(const NcclCommunicators&) = delete;
    NcclCommunicators& operator=(const NcclCommunicators&) = delete;

    // The calls of the plan as one group, in the order of the stream. Returns when they are
    // enqueued, not when they are done.
    Result<void> enqueue(const NcclTransfer& plan, NcclLibrary::Stream stream);
    // What has gone wrong on any communicator since; the error stays.
    Result<void> check();
    // Waits until `done` says that the device has ended what was enqueued.
    Result<void> wait(const std::function<bool()>& done);
    void abort(const std::string& why);

    std::size_t size() const { return communicators_.size(); }

private:
    struct Member {
        NcclMembers of;
        NcclLibrary::Communicator handle = nullptr;
    };
    NcclCommunicators(NcclLibrary& library, Patience patience)
        : library_(library), patience_(std::move(patience)) {}
    Result<void> join(const NcclMembers& of, Transport& transport);
    // Waits until the communicator is no longer in progress; aborts all on an error.
    Result<void> settle(NcclLibrary::Communicator communicator, const std::string& what);
    // Whether all communicators ended well; the library has forgotten them then.
    bool finished();
    Result<void> broken(int status,
                        NcclLibrary::Communicator communicator,
                        const std::string& what);
    NcclLibrary::Communicator find(const NcclMembers& of) const;

    NcclLibrary& library_;
    Patience patience_;
    std::vector<Member> communicators_;
    std::optional<Error> error_;
};

// The communicators of the Program's ops that `rank` is a member of, in an order that all ranks
// share.
std::vector<NcclMembers> nccl_communicators(const Program& program, RankId rank);

}  // namespace orrery
