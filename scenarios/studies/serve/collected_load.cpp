// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/collected_load.h"

#include <cstddef>

#include "engine/base/check.h"

namespace orrery {

CollectedLoad collected(const std::vector<Request>& requests, const Collecting& collecting) {
    ORRERY_CHECK(collecting.most >= 1 && collecting.servers >= 1);
    CollectedLoad load;
    double waited_s = 0;
    std::size_t begin = 0;  // of the batch that is being collected
    std::int64_t batches = 0;
    Time last_left;
    const auto leave = [&](std::size_t end, Time now) {
        const bool ours = batches++ % collecting.servers == 0;
        for (; begin < end; ++begin) {
            if (ours) {
                waited_s += (now - requests[begin].arrival).seconds();
                load.requests.push_back(requests[begin]);
                load.requests.back().arrival = now;
            }
        }
        last_left = now;
    };
    for (std::size_t i = 0; i < requests.size(); ++i) {
        const Time now = requests[i].arrival;
        if (begin < i && now - requests[i - 1].arrival > collecting.longest) {
            leave(i, requests[i - 1].arrival + collecting.longest);
        }
        if (static_cast<std::int64_t>(i + 1 - begin) >= collecting.most ||
            now - last_left >= collecting.longest) {
            leave(i + 1, now);
        }
    }
    if (begin < requests.size()) {
        leave(requests.size(), requests.back().arrival + collecting.longest);
    }
    if (!load.requests.empty()) {
        load.mean_wait = Time::seconds(waited_s / static_cast<double>(load.requests.size()));
    }
    return load;
}

}  // namespace orrery
