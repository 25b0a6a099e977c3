// SPDX-License-Identifier: Apache-2.0
// Messages between the processes of a job: the seam below collectives. Everything waits for a
// bounded time only, and what goes wrong is a value: a peer that does not answer, closed the
// connection, or sends more than was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

// One side of a message. Sends and receives between two ranks match by tag, in the order in which
// they were posted; a message and its receipt are of equal size. The bytes belong to the caller.
struct Message {
    bool is_send = true;
    std::uint32_t peer = 0;
    std::uint64_t tag = 0;
    std::span<std::byte> bytes;  // only read if sent
};

// Threads of a process may exchange() at the same time, each with tags of its own. One thread at a
// time may post_send() and flush().
class Transport {
public:
    virtual ~Transport() = default;
    virtual std::uint32_t rank() const = 0;
    virtual std::uint32_t num_ranks() const = 0;
    // Posts all, then waits for all until the transport's deadline. After an error the transport
    // is of no further use.
    virtual Result<void> exchange(std::span<const Message> messages) = 0;
    // Copies a message and sends it in the background; flush() waits for all such, and says what
    // went wrong with them. For a sender that must go on before the other side receives.
    virtual Result<void> post_send(const Message& message) = 0;
    virtual Result<void> flush() = 0;
};

}  // namespace orrery
