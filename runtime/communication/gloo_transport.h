// SPDX-License-Identifier: Apache-2.0
// A transport between processes over TCP by Gloo (github.com/facebookincubator/gloo). Every process
// connects to every other one; a key-value store exchanges the addresses.
#pragma once

#include <chrono>
#include <string>

#include "runtime/communication/transport.h"

namespace orrery {

struct GlooOptions {
    std::uint32_t rank = 0;
    std::uint32_t num_ranks = 1;
    // For local jobs, an empty folder that all processes see. Otherwise the host and port where
    // rank 0 serves the store.
    std::string store_folder;
    std::string store_host;
    std::uint16_t store_port = 0;
    std::string listen_host = "127.0.0.1";      // address on which this process accepts connections
    std::chrono::milliseconds timeout{30'000};  // for connecting, and for each exchange
};

// Connects to all other ranks. An error if one of them does not come in time.
Result<std::unique_ptr<Transport>> connect_gloo(const GlooOptions& options);

}  // namespace orrery
