// SPDX-License-Identifier: Apache-2.0
#include "engine/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace orrery {

std::uint32_t usable_cores() {
    return std::max(1U, std::thread::hardware_concurrency());
}

void for_each_index(std::size_t count,
                    std::uint32_t threads,
                    const std::function<void(std::size_t)>& work,
                    const std::function<void(std::size_t)>& finished) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> stop = false;
    std::mutex mutex;
    std::size_t done = 0;
    const auto take_pieces = [&] {
        for (std::size_t i = next++; i < count && !stop; i = next++) {
            work(i);
            if (finished) {
                const std::scoped_lock lock(mutex);
                finished(++done);
            }
        }
    };
    const std::size_t most = threads == 0 ? usable_cores() : threads;
    std::vector<std::exception_ptr> failed(std::max<std::size_t>(1, std::min(most, count)));
    const auto guarded = [&](std::exception_ptr& mine) {
        try {
            take_pieces();
        } catch (...) {
            mine = std::current_exception();
            stop = true;
        }
    };
    {
        std::vector<std::jthread> others;
        others.reserve(failed.size());
        for (std::size_t t = 1; t < failed.size(); ++t) {
            try {
                others.emplace_back([&guarded, &mine = failed[t]] { guarded(mine); });
            } catch (const std::system_error&) {
                break;  // the system has no thread left: the existing ones do the work
            }
        }
        guarded(failed.front());
    }
    for (const std::exception_ptr& one : failed) {
        if (one) {
            std::rethrow_exception(one);
        }
    }
}

}  // namespace orrery
