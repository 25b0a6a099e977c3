// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/preempted_blocks.h"

#include <algorithm>

#include "engine/base/splitmix.h"

namespace orrery {

std::vector<std::uint64_t> preempted_hashes(RequestId id,
                                            const Request& request,
                                            std::int64_t blocks) {
    constexpr std::uint64_t kOwn = 0x4f776e426c6f636b;  // apart from other uses of the mixer
    // A real server gives the id of an ended request to a later one, which arrived later.
    const std::uint64_t own =
        splitmix64(splitmix64(kOwn ^ static_cast<std::uint64_t>(id)) ^
                   static_cast<std::uint64_t>(request.arrival.picoseconds()));
    const auto all = static_cast<std::size_t>(blocks);
    const std::size_t known = std::min(all, request.prefix_hashes.size());
    std::vector<std::uint64_t> hashes(
        request.prefix_hashes.begin(),
        request.prefix_hashes.begin() + static_cast<std::ptrdiff_t>(known));
    for (std::size_t block = known; block < all; ++block) {
        hashes.push_back(splitmix64(own ^ block));
    }
    return hashes;
}

}  // namespace orrery
