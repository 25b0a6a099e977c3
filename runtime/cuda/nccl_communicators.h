// SPDX-License-Identifier: Apache-2.0
// The NCCL communicators of a rank. A deadline bounds every wait for other ranks. After an error,
// on this rank or (as NCCL reports) on another one, all communicators of this rank are aborted.
// That lets the kernels of the other ranks end: they reach their own deadlines or NCCL's remote
// error, and abort as well. An aborted communicator is never used again. One thread makes all
// calls, so that no call is in progress at an abort. At a normal end communicators are finalized
// and destroyed: over sockets, a proxy may still be sending the last kernel's data, which an abort
// would cut off (NCCL user guide, "Destroying a communicator").
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

// The deadline of a wait, its clock, and the pause between two polls. Most waits are short, and a
// sleep costs about 75 us with the timer's slack, so that a wait polls for `spin` before its first
// pause.
struct Patience {
    using Clock = std::chrono::steady_clock;
    std::chrono::milliseconds deadline{120'000};
    std::chrono::microseconds spin{0};
    std::function<Clock::time_point()> now = [] { return Clock::now(); };
    std::function<void()> pause;  // null: poll again at once

    // Whether `done` became true in time.
    bool wait_until(const std::function<bool()>& done) const;
};

class NcclCommunicators {
public:
    // Creates every communicator of the Program's ops that this rank is a member of. All ranks call
    // it at the same time. Unique ids travel over `transport`.
    static Result<std::unique_ptr<NcclCommunicators>> create(
        NcclLibrary& library,
        const std::vector<NcclMembers>& communicators,
        Transport& transport,
        Patience patience);
    // Finalizes and destroys the communicators. Aborts them after an error, or if a rank does not
    // answer.
    ~NcclCommunicators();
    NcclCommunicators(const NcclCommunicators&) = delete;
    NcclCommunicators& operator=(const NcclCommunicators&) = delete;

    // Enqueues the calls of the plan on the stream as one group. Does not wait for their end.
    Result<void> enqueue(const NcclTransfer& plan, NcclLibrary::Stream stream);
    // The first error on any communicator; it stays.
    Result<void> check();
    // Waits until `done` reports that the device has finished the enqueued calls.
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
    // Waits until the communicator is no longer in progress. On an error, aborts all.
    Result<void> settle(NcclLibrary::Communicator communicator, const std::string& what);
    // Whether all communicators ended normally; the library has then freed them.
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

// The communicators of the Program's ops that `rank` is a member of. The order is the same on all
// ranks.
std::vector<NcclMembers> nccl_communicators(const Program& program, RankId rank);

}  // namespace orrery
