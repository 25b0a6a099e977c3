// SPDX-License-Identifier: Apache-2.0
// An interface to the calls of NCCL that the executor makes: the library, loaded at its first use,
// or a test's fake. Status codes are ncclResult_t's. Communicators are non-blocking: calls return
// kNcclInProgress, and async_error() reports their end (NCCL user guide, "Using multiple NCCL
// communicators concurrently" and "Fault tolerance").
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "engine/base/result.h"
#include "runtime/cuda/nccl_transfer.h"

namespace orrery {

inline constexpr int kNcclSuccess = 0;
inline constexpr int kNcclRemoteError = 6;
inline constexpr int kNcclInProgress = 7;

using NcclUniqueId = std::array<std::byte, 128>;

class NcclLibrary {
public:
    using Communicator = void*;  // ncclComm_t
    using Stream = void*;        // cudaStream_t

    virtual ~NcclLibrary() = default;
    virtual std::string version() const = 0;
    virtual std::string error_text(int status, Communicator communicator) const = 0;

    virtual int unique_id(NcclUniqueId& id) = 0;
    virtual int init(Communicator& communicator, const NcclUniqueId& id, const NcclMembers& of) = 0;
    // Sets `state` to the communicator's status, which may be kNcclInProgress.
    virtual int async_error(Communicator communicator, int& state) = 0;
    // Lets the communicator finish its work; async_error() reports the end.
    virtual int finalize(Communicator communicator) = 0;
    // Frees a finalized communicator.
    virtual int destroy(Communicator communicator) = 0;
    // Aborts all work of the communicator and frees it.
    virtual int abort(Communicator communicator) = 0;
    virtual int group_start() = 0;
    virtual int group_end() = 0;
    virtual int call(const NcclCall& call, Communicator communicator, Stream stream) = 0;
};

// Loads libnccl.so.2 of this machine. An error if there is none with a suitable version.
Result<std::unique_ptr<NcclLibrary>> open_nccl();

}  // namespace orrery
