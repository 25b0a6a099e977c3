// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/program_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "engine/world/rate_alone.h"
#include "models/memory/memory.h"
#include "models/plan/rank_rows.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {
namespace {

// cuBLAS's workspace on Hopper (cuBLAS documentation, cublasSetWorkspace).
constexpr Bytes kLibraryWorkspace{32 << 20};

}  // namespace

std::vector<LinkUse> link_uses(const SimulationResult& result,
                               const NetworkModel& network,
                               std::span<const std::string> class_names) {
    std::vector<LinkUse> uses;
    for (std::size_t c = 0; c < class_names.size(); ++c) {
        if (c >= result.link_class_utilisation_mean.size() ||
            result.link_class_utilisation_max[c] <= 0) {
            continue;
        }
        LinkUse use{.link_class = class_names[c],
                    .capacity = {},
                    .mean = result.link_class_utilisation_mean[c],
                    .max = result.link_class_utilisation_max[c]};
        bool first = true;
        for (const LinkInfo& link : network.links()) {
            if (link.link_class == c) {
                use.capacity = first || use.capacity == link.capacity ? link.capacity : Bandwidth{};
                first = false;
            }
        }
        uses.push_back(std::move(use));
    }
    return uses;
}

std::string words_with_fabric(const ClusterSpec& cluster) {
    std::string words = words_of(cluster);
    if (cluster.num_nodes > 1 && cluster.fabric.name != "none" && !cluster.fabric.name.empty()) {
        words += ", " + cluster.fabric.name;
    }
    if (cluster.has_ethernet()) {
        words += ", " + cluster.ethernet.name;
    }
    return words;
}

std::string tensor_sizes(const ParallelPlan& plan) {
    const std::vector<std::int64_t>& sizes = plan.stage_tensor_model_parallel_sizes;
    return sizes.empty() ? fmt::format("{}", plan.tensor_model_parallel_size)
                         : fmt::format("{} by stage", fmt::join(sizes, "-"));
}

std::vector<RankId> role_representatives(const Program& program) {
    std::vector<RankId> ranks;
    for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
        const Party& party = program.parties[program.party_of(to_id<RoleId>(role))];
        ranks.push_back(party.mesh.shifted(
            party.mesh.first_rank(), party.role_digit, static_cast<int>(role - party.first_role)));
    }
    return ranks;
}

std::vector<CollectiveUse> collective_uses(const Program& program, const NetworkModel& network) {
    std::vector<CollectiveUse> uses;
    std::map<std::uint32_t, std::pair<std::int64_t, RankId>> calls;  // calls per step, a member
    const std::vector<RankId> ranks = role_representatives(program);
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        std::map<std::uint32_t, std::int64_t> of_role;
        for (const Slot& slot : program.roles[role].slots) {
            for (const Op& op : program.segment_of(slot).ops) {
                if (op.kind() == OpKind::collective) {
                    ++of_role[op.payload.number()];
                }
            }
        }
        for (const auto& [call, count] : of_role) {
            calls.emplace(call, std::pair{count, ranks[role]});
        }
    }
    for (const auto& [id, use] : calls) {
        const CollectiveCall& call = program.collectives[id];
        const Group& group = program.groups[index(call.group)];
        const std::vector<RankId> members = program.mesh_of(use.second).members(group, use.second);
        const TransferPlan plan = network.plan(call, members);
        uses.push_back({.name = fmt::format("{} on {}", name(call.kind), group.name),
                        .bytes = call.bytes,
                        .ranks = static_cast<std::uint32_t>(members.size()),
                        .algorithm = plan.algorithm,
                        .protocol = plan.protocol,
                        .channels = plan.channels,
                        .engine = plan.engine,
                        .sms = plan.sms,
                        .count = use.first,
                        .alone = time_without_contention(plan, network.links())});
    }
    std::stable_sort(uses.begin(), uses.end(), [](const CollectiveUse& a, const CollectiveUse& b) {
        return a.bytes.count() * a.count > b.bytes.count() * b.count;
    });
    return uses;
}

MemoryUse memory_use(const Program& program,
                     const std::optional<RoutedStep>& routed,
                     std::span<const RoutedTensor> tensors,
                     std::span<const Bytes> memory) {
    if (!routed) {
        return memory_use(program, memory);
    }
    const std::vector<RankId> ranks = fullest_ranks(program, routed->load);
    MemoryUse use = memory_use(with_rows_of(program, tensors, routed->load, ranks), memory);
    use.rank = ranks[index(program.role_of(use.rank))];
    return use;
}

namespace {

struct TierUse {
    Bytes used;
    Bytes has;
    BufferUse largest{};
};

// Use of the tier on the server that uses most of it. `of_role` has the bytes of a rank by role.
TierUse fullest_server(const Program& program,
                       const ClusterSpec& cluster,
                       const std::vector<Bytes>& of_role,
                       MemoryTier tier) {
    std::map<std::uint32_t, std::pair<Bytes, Bytes>> servers;  // used, present
    for (std::uint32_t rank = 0; rank < program.num_ranks(); ++rank) {
        auto& [used, has] = servers[cluster.server_of(rank)];
        used += of_role[index(program.role_of(to_id<RankId>(rank)))];
        const NodeSpec& node = cluster.kind(cluster.kind_of_rank(rank)).node;
        has = tier == MemoryTier::dram ? node.host_memory : node.nvme_size * node.nvme_drives;
    }
    TierUse use;
    for (const auto& [server, memory] : servers) {
        if (memory.first > use.used) {
            use.used = memory.first;
            use.has = memory.second;
        }
    }
    for (std::size_t role = 0; role < of_role.size() && use.used > Bytes{}; ++role) {
        const LargeBuffer own = largest_in(program, to_id<RoleId>(role), tier);
        if (own.bytes > use.largest.bytes) {
            use.largest = {.name = own.name, .kind = own.kind, .bytes = own.bytes};
        }
    }
    return use;
}

}  // namespace

void add_host_memory(const Program& program, const ClusterSpec& cluster, MemoryUse& use) {
    std::vector<Bytes> in_memory;
    std::vector<Bytes> in_files;
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        in_memory.push_back(host_bytes(program, to_id<RoleId>(role)));
        in_files.push_back(file_bytes(program, to_id<RoleId>(role)));
    }
    const TierUse memory = fullest_server(program, cluster, in_memory, MemoryTier::dram);
    const TierUse files = fullest_server(program, cluster, in_files, MemoryTier::nvme);
    use.host = memory.used;
    use.host_memory = memory.has;
    use.host_largest = memory.largest;
    use.drives = files.used;
    use.drives_size = files.has;
    use.drives_largest = files.largest;
    use.fits = use.fits && memory.used <= memory.has &&
               (files.has == Bytes{} || files.used <= files.has);
}

MemoryUse memory_use(const Program& program, const DeviceSpec& device) {
    return memory_use(program, std::vector<Bytes>(program.roles.size(), device.memory));
}

MemoryUse memory_use(const Program& program, std::span<const Bytes> memory) {
    RoleMemory worst;
    Bytes of_device;
    // Whether a/b > c/d, the fuller memory, without rounding.
    const auto is_worse = [](Bytes a, Bytes b, Bytes c, Bytes d) {
        const auto left = static_cast<__int128>(a.count()) * d.count();
        const auto right = static_cast<__int128>(c.count()) * b.count();
        return b == d ? a > c : left > right;
    };
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        RoleMemory own = role_memory(program, to_id<RoleId>(role), kLibraryWorkspace);
        if (role == 0 || is_worse(own.peak, memory[role], worst.peak, of_device)) {
            worst = std::move(own);
            of_device = memory[role];
        }
    }
    const Role& role = program.roles[index(worst.role)];
    const Slot& slot = role.slots[worst.slot];
    MemoryUse use;
    use.of = worst.at_peak.of;
    use.in_use = worst.in_use;
    use.peak = worst.peak;
    use.device = of_device;
    use.fits = worst.peak <= of_device;
    use.rank = role_representatives(program)[index(worst.role)];
    use.role = role.name;
    use.moment = program.segment_of(slot).name;
    if (slot.micro_batch >= 0) {
        use.moment += fmt::format(", micro-batch {}", slot.micro_batch);
    }
    for (const LargeBuffer& buffer : worst.largest) {
        std::string text = buffer.name;
        if (buffer.copies > 1) {
            text += fmt::format(" ({} buffers)", buffer.copies);
        }
        use.largest.push_back(
            {.name = std::move(text), .kind = buffer.kind, .bytes = buffer.bytes});
    }
    return use;
}

}  // namespace orrery
