// SPDX-License-Identifier: Apache-2.0
// Messages between the processes of a job, the layer below collectives. Every wait is bounded.
// Failures are values: a peer that does not answer, closes the connection, or sends more than
// expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

// One side of a message. Sends and receives between two ranks match by tag, in the order of
// posting, and must have equal sizes. The caller owns the bytes.
struct Message {
    bool is_send = true;
    std::uint32_t peer = 0;
    std::uint64_t tag = 0;
    std::span<std::byte> bytes;  // read-only for sends
};

// Several threads may call exchange() at the same time with distinct tags. Only one thread at a
// time may call post_send() and flush().
class Transport {
public:
    virtual ~Transport() = default;
    virtual std::uint32_t rank() const = 0;
    virtual std::uint32_t num_ranks() const = 0;
    // Posts all messages, then waits for all until the transport's deadline. After an error the
    // transport cannot be used any more.
    virtual Result<void> exchange(std::span<const Message> messages) = 0;
    // Copies a message and sends it in the background. flush() waits for all of these and returns
    // their error. It serves senders that must continue before the other side receives.
    virtual Result<void> post_send(const Message& message) = 0;
    virtual Result<void> flush() = 0;
};

}  // namespace orrery
