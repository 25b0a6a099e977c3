// SPDX-License-Identifier: Apache-2.0
// Wraps a transport and injects a fault at one exchange, for drills and tests: a delay, an error,
// or the sudden end of the process.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/communication/transport.h"

namespace orrery {

struct InjectedFault {
    enum class Kind : std::uint8_t { none, delay, fail, die };
    Kind kind = Kind::none;
    std::uint64_t exchange = 0;  // number of the exchange, from 0
    std::chrono::milliseconds delay{0};
};

std::unique_ptr<Transport> with_fault(std::unique_ptr<Transport> transport, InjectedFault fault);

}  // namespace orrery
