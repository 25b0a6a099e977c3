// SPDX-License-Identifier: Apache-2.0
// Hits of LRU, FIFO and LFU on the first half hour of the conversations that Mooncake published
// (Qin et al., FAST 2025), beside those that another program counted. The trace is not part of the
// project: its table of requests (mooncake_conversation_1.csv) is the argument. Ends with 1 if a
// figure differs.
#include <cctype>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/engine/serving/block_hits.h"

namespace orrery {
namespace {

// Requests of a table whose last column is runs of block hashes: "0 14-27".
Trace read_trace(const std::string& file) {
    Trace trace;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const std::size_t runs = line.rfind(',') + 1;
        if (line.empty() || std::isdigit(static_cast<unsigned char>(line.front())) == 0) {
            continue;
        }
        std::istringstream words(line.substr(runs));
        trace.emplace_back();
        for (std::string run; words >> run;) {
            const std::size_t dash = run.find('-');
            const std::uint64_t first = std::stoull(run);
            const std::uint64_t last =
                dash == std::string::npos ? first : std::stoull(run.substr(dash + 1));
            for (std::uint64_t hash = first; hash <= last; ++hash) {
                trace.back().push_back(hash);
            }
        }
    }
    return trace;
}

struct Row {
    std::int64_t capacity;  // blocks
    std::int64_t lru;
    std::int64_t fifo;
    std::int64_t lfu;
};
constexpr Row kCounted[] = {{1'000, 6'333, 6'150, 7'074},
                            {5'000, 15'910, 15'122, 15'257},
                            {10'000, 30'088, 26'609, 24'607},
                            {30'000, 45'779, 42'171, 44'445},
                            {100'000, 49'930, 49'930, 49'930}};

int compare(const std::string& file) {
    const Trace trace = read_trace(file);
    std::printf("%zu requests\n%9s %15s %15s %15s\n", trace.size(), "blocks", "LRU", "FIFO", "LFU");
    int differs = trace.empty() ? 1 : 0;
    for (const Row& row : kCounted) {
        std::printf("%9lld", static_cast<long long>(row.capacity));
        for (const auto& [policy, counted] : {std::pair{EvictionPolicy::lru, row.lru},
                                              std::pair{EvictionPolicy::fifo, row.fifo},
                                              std::pair{EvictionPolicy::lfu, row.lfu}}) {
            const std::int64_t hits = hits_of(trace, row.capacity, policy);
            std::printf(
                " %7lld %7lld", static_cast<long long>(hits), static_cast<long long>(counted));
            differs = hits == counted ? differs : 1;
        }
        std::printf("\n");
    }
    return differs;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: cache_hits TABLE\n");
        return 2;
    }
    return orrery::compare(argv[1]);
}
