// SPDX-License-Identifier: Apache-2.0
// Runs a function as every rank of a job, each in a thread of this process with a Gloo transport of
// its own, all meeting in a fresh folder.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <latch>
#include <thread>

#include "runtime/communication/gloo_transport.h"

namespace orrery {

class StoreFolder {
public:
    StoreFolder() {
        path_ = (std::filesystem::temp_directory_path() / "orrery-test-XXXXXX").string();
        EXPECT_NE(mkdtemp(path_.data()), nullptr);
    }
    ~StoreFolder() { std::filesystem::remove_all(path_); }
    StoreFolder(const StoreFolder&) = delete;
    StoreFolder& operator=(const StoreFolder&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_;
};

inline void run_as_ranks(std::uint32_t num_ranks,
                         const std::function<void(std::unique_ptr<Transport>)>& body,
                         std::chrono::milliseconds timeout = std::chrono::seconds{20}) {
    const StoreFolder store;
    // Nobody hangs up while others still connect: a rank's work may be shorter than that.
    std::latch connected{num_ranks};
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < num_ranks; ++rank) {
        threads.emplace_back([&, rank] {
            auto transport = connect_gloo({.rank = rank,
                                           .num_ranks = num_ranks,
                                           .store_folder = store.path(),
                                           .timeout = timeout});
            connected.arrive_and_wait();
            ASSERT_TRUE(transport) << transport.error().to_string();
            body(std::move(*transport));
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace orrery
