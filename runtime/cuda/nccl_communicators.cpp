// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/nccl_communicators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "engine/base/check.h"
#include "runtime/communication/communicator.h"

namespace orrery {
namespace {

// Id of the host messages that exchange unique ids, apart from the Program's communicators. One id
// is enough, because two ranks create their common communicators in the same order. The id must not
// depend on the number of a rank's communicators: a middle stage has fewer than the first and the
// last.
constexpr std::uint32_t kExchange = 0xA00000;

// For the end of a job, when every rank is about to exit.
constexpr std::chrono::milliseconds kMostForTheEnd{5'000};

std::string describe(const NcclMembers& of) {
    return fmt::format("NCCL communicator {} of {} ranks", of.id, of.ranks.size());
}

}  // namespace

bool Patience::wait_until(const std::function<bool()>& done) const {
    const Clock::time_point begin = now();
    while (!done()) {
        const Clock::duration waited = now() - begin;
        if (waited >= deadline) {
            return false;
        }
        if (pause && waited >= spin) {
            pause();
        }
    }
    return true;
}

Result<std::unique_ptr<NcclCommunicators>> NcclCommunicators::create(
    NcclLibrary& library,
    const std::vector<NcclMembers>& communicators,
    Transport& transport,
    Patience patience) {
    std::unique_ptr<NcclCommunicators> all{new NcclCommunicators(library, std::move(patience))};
    for (const NcclMembers& of : communicators) {
        if (const Result<void> joined = all->join(of, transport); !joined) {
            return unexpected<Error>(joined.error());
        }
    }
    return all;
}

NcclCommunicators::~NcclCommunicators() {
    if (error_ || !finished()) {
        abort("the executor has ended");
    }
}

// Each step for all communicators before the next step, because other ranks may be at another step.
bool NcclCommunicators::finished() {
    patience_.deadline = std::min(patience_.deadline, kMostForTheEnd);
    const auto fine = [](int status) {
        return status == kNcclSuccess || status == kNcclInProgress;
    };
    for (const Member& member : communicators_) {
        if (!fine(library_.finalize(member.handle))) {
            return false;
        }
    }
    for (const Member& member : communicators_) {
        int state = kNcclInProgress;
        const bool settled = patience_.wait_until([&] {
            return library_.async_error(member.handle, state) != kNcclSuccess ||
                   state != kNcclInProgress;
        });
        if (!settled || state != kNcclSuccess) {
            return false;
        }
    }
    for (const Member& member : std::exchange(communicators_, {})) {
        library_.destroy(member.handle);
    }
    return true;
}

Result<void> NcclCommunicators::join(const NcclMembers& of, Transport& transport) {
    NcclUniqueId id{};
    int status = of.position == 0 ? library_.unique_id(id) : kNcclSuccess;
    Communicator host{transport, of.ranks, kExchange};
    // The first member sends even without an id, so that the others do not wait in vain.
    const Result<void> told =
        host.broadcast({id.data(), Dtype::uint8, static_cast<std::int64_t>(id.size())}, 0);
    if (!told) {
        abort(told.error().what);
        return told;
    }
    if (status != kNcclSuccess || id == NcclUniqueId{}) {
        return broken(status, nullptr, "the unique id of " + describe(of));
    }
    communicators_.push_back({of, nullptr});
    status = library_.init(communicators_.back().handle, id, of);
    if (status != kNcclSuccess && status != kNcclInProgress) {
        return broken(status, nullptr, describe(of));
    }
    return settle(communicators_.back().handle, describe(of));
}

Result<void> NcclCommunicators::broken(int status,
                                       NcclLibrary::Communicator communicator,
                                       const std::string& what) {
    abort(fmt::format("{}: {}", what, library_.error_text(status, communicator)));
    return unexpected<Error>(*error_);
}

Result<void> NcclCommunicators::settle(NcclLibrary::Communicator communicator,
                                       const std::string& what) {
    int state = kNcclInProgress;
    int status = kNcclSuccess;
    const bool done = patience_.wait_until([&] {
        status = library_.async_error(communicator, state);
        return status != kNcclSuccess || state != kNcclInProgress;
    });
    if (!done) {
        abort(fmt::format("{}: the other ranks did not answer within {} s",
                          what,
                          patience_.deadline.count() / 1000));
        return unexpected<Error>(*error_);
    }
    const int wrong = status != kNcclSuccess ? status : state;
    return wrong == kNcclSuccess ? Result<void>{} : broken(wrong, communicator, what);
}

NcclLibrary::Communicator NcclCommunicators::find(const NcclMembers& of) const {
    const auto found = std::ranges::find(communicators_, of, &Member::of);
    ORRERY_CHECK(found != communicators_.end());
    return found->handle;
}

Result<void> NcclCommunicators::enqueue(const NcclTransfer& plan, NcclLibrary::Stream stream) {
    if (error_) {
        return unexpected<Error>(*error_);
    }
    std::vector<NcclLibrary::Communicator> handles;
    for (const NcclMembers& of : plan.communicators) {
        handles.push_back(find(of));
    }
    int status = library_.group_start();
    for (const NcclCall& call : plan.calls) {
        if (status != kNcclSuccess && status != kNcclInProgress) {
            break;
        }
        status = library_.call(call, handles[call.communicator], stream);
    }
    // End the group in any case, because NCCL has it open for this thread.
    const int ended = library_.group_end();
    status = status == kNcclSuccess || status == kNcclInProgress ? ended : status;
    if (status != kNcclSuccess && status != kNcclInProgress) {
        return broken(status, handles.front(), describe(plan.communicators.front()));
    }
    for (std::size_t i = 0; status == kNcclInProgress && i < handles.size(); ++i) {
        const Result<void> settled = settle(handles[i], describe(plan.communicators[i]));
        if (!settled) {
            return settled;
        }
    }
    return {};
}

Result<void> NcclCommunicators::check() {
    for (std::size_t i = 0; !error_ && i < communicators_.size(); ++i) {
        const Member& member = communicators_[i];
        int state = kNcclSuccess;
        const int status = library_.async_error(member.handle, state);
        const int wrong = status != kNcclSuccess ? status : state;
        if (wrong != kNcclSuccess && wrong != kNcclInProgress) {
            return broken(wrong, member.handle, describe(member.of));
        }
    }
    return error_ ? unexpected<Error>(*error_) : Result<void>{};
}

Result<void> NcclCommunicators::wait(const std::function<bool()>& done) {
    Result<void> checked;
    const bool ended = patience_.wait_until([&] {
        if (done()) {
            return true;
        }
        checked = check();
        return !checked;
    });
    if (!ended) {
        abort(fmt::format("the other ranks did not answer within {} s",
                          patience_.deadline.count() / 1000));
        return unexpected<Error>(*error_);
    }
    return checked;
}

void NcclCommunicators::abort(const std::string& why) {
    if (!error_) {
        error_ = Error{"", why, {}};
    }
    for (const Member& member : std::exchange(communicators_, {})) {
        if (member.handle != nullptr) {
            library_.abort(member.handle);
        }
    }
}

std::vector<NcclMembers> nccl_communicators(const Program& program, RankId rank) {
    std::map<std::pair<std::uint32_t, Mover>, NcclMembers> found;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() != OpKind::collective && op.kind() != OpKind::send_recv) {
                continue;
            }
            for (NcclMembers& of : communicators_of(program, rank, op)) {
                found.emplace(std::pair{of.id, of.mover}, std::move(of));
            }
        }
    }
    std::vector<NcclMembers> all;
    for (auto& [key, of] : found) {
        all.push_back(std::move(of));
    }
    return all;
}

}  // namespace orrery
