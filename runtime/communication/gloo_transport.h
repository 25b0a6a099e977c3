// SPDX-License-Identifier: Apache-2.0
// Transport between processes over TCP by Gloo (github.com/facebookincubator/gloo): connections
// from every process to every other one, found through a key-value store.
#pragma once

#include <chrono>
#include <string>

#include "runtime/communication/transport.h"

namespace orrery {

struct GlooOptions {
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
    // An empty folder that all processes see, for local jobs; or else the host and port where rank
    // 0 listens for the others.
    std::string store_folder;
    std::string store_host;
    std::uint16_t store_port = 0;
    std::string listen_host = "127.0.0.1";      // where this process accepts connections
    std::chrono::milliseconds timeout{30'000};  // of connecting, and of each exchange
};

// Connects to all others. An error if one of them does not come in time.
Result<std::unique_ptr<Transport>> connect_gloo(const GlooOptions& options);

}  // namespace orrery
