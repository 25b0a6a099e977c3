// SPDX-License-Identifier: Apache-2.0
// Wraps a transport and does harm on purpose, for drills and tests: at one exchange the process
// delays, fails, or ends without a word.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "runtime/communication/transport.h"

namespace orrery {

struct InjectedFault {
    enum class Kind : std::uint8_t { none, delay, fail, die };
    Kind kind = Kind::none;
    std::uint64_t exchange = 0;  // the how-manieth, from 0
    std::chrono::milliseconds delay{0};
};

std::unique_ptr<Transport> with_fault(std::unique_ptr<Transport> transport, InjectedFault fault);

}  // namespace orrery
