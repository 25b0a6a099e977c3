// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/trace/chakra_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/world/traced_ops.h"
#include "scenarios/format/document/output_file.h"
#include "scenarios/report/trace/perfetto_messages.h"
#include "scenarios/studies/replay/chakra_schema.h"

namespace orrery {
namespace {

void add_attribute(perfetto::Message& node,
                   std::string_view name,
                   std::uint32_t field,
                   std::uint64_t value) {
    perfetto::Message attribute;
    attribute.bytes(chakra::kAttributeName, name).number(field, value);
    node.message(chakra::kAttribute, attribute);
}

void add_attribute(perfetto::Message& node, std::string_view name, std::string_view text) {
    perfetto::Message attribute;
    attribute.bytes(chakra::kAttributeName, name).bytes(chakra::kString, text);
    node.message(chakra::kAttribute, attribute);
}

void put(std::string& file, const perfetto::Message& message) {
    std::uint64_t size = message.data().size();
    while (size >= 0x80) {
        file += static_cast<char>((size & 0x7FU) | 0x80U);
        size >>= 7U;
    }
    file += static_cast<char>(size);
    file += message.data();
}

std::uint64_t number_of(CollectiveKind kind) {
    const auto* found =
        std::ranges::find(chakra::kCollectives, kind, [](const auto& pair) { return pair.second; });
    return found->first;
}

class RankWriter {
public:
    RankWriter(const Program& program, RankId rank, ChakraGroups& groups)
        : program_(program),
          rank_(rank),
          role_(program.roles[index(program.role_of(rank))]),
          groups_(groups) {
        for (const CollectiveCall& call : program.collectives) {
            communicators_ = std::max(communicators_, call.communicator + std::uint64_t{1});
        }
    }

    std::string trace(std::span<const TracedOp> ops) {
        perfetto::Message metadata;
        metadata.bytes(chakra::kMetadataVersion, "0.0.4");
        put(file_, metadata);
        for (const TracedOp& op : ops) {
            times_[{op.slot, op.op}] = &op;
        }
        for (std::uint32_t slot = 0; slot < role_.slots.size(); ++slot) {
            add_slot(slot);
        }
        return std::move(file_);
    }

private:
    using Position = std::pair<std::uint32_t, std::uint32_t>;

    void add_slot(std::uint32_t number) {
        const Slot& slot = role_.slots[number];
        const Segment& segment = program_.segment_of(slot);
        for (std::uint32_t position = 0; position < segment.ops.size(); ++position) {
            const Op& op = segment.ops[position];
            std::set<std::uint64_t> after;
            if (const auto last = last_on_stream_.find(op.stream); last != last_on_stream_.end()) {
                after.insert(last->second.begin(), last->second.end());
            }
            for (std::uint32_t w = op.first_wait; w < op.first_wait + op.num_waits; ++w) {
                add_ids({number, program_.waits[w]}, after);
            }
            for (const SlotWait& wait : slot.waits) {
                if (wait.op == position && !wait.carried) {
                    add_ids({wait.slot, wait.slot_op}, after);
                }
            }
            add_op({number, position}, op, after);
            last_on_stream_[op.stream] = ids_[{number, position}];
        }
    }

    void add_ids(Position position, std::set<std::uint64_t>& after) const {
        const auto& ids = ids_.at(position);
        after.insert(ids.begin(), ids.end());
    }

    void add_op(Position position, const Op& op, const std::set<std::uint64_t>& after) {
        const std::string& stream = program_.stream_names[index(op.stream)];
        if (op.kind() == OpKind::send_recv) {
            // Each part is a node and waits on its own stream, because the parts progress together.
            for (const SendRecvPart& part : program_.send_recv(op).parts) {
                message(position, op, part, after);
            }
            return;
        }
        perfetto::Message node = begin_node(position, op, after);
        if (op.kind() == OpKind::collective) {
            const CollectiveCall& call = program_.collective(op);
            node.number(chakra::kType, chakra::kCollective);
            add_attribute(node, "is_cpu_op", chakra::kBool, 0);
            add_attribute(node, "comm_type", chakra::kInt64, number_of(call.kind));
            add_attribute(
                node, "comm_size", chakra::kInt64, static_cast<std::uint64_t>(call.bytes.count()));
            add_attribute(node, "pg_name", group_number(call));
            add_attribute(node, "orrery_group", program_.groups[index(call.group)].name);
        } else {
            const Time duration = duration_of(position);
            const auto ps = static_cast<std::uint64_t>(duration.picoseconds());
            node.number(chakra::kType, chakra::kCompute)
                .number(chakra::kDurationMicros, (ps + 500'000) / 1'000'000);
            add_attribute(node, "is_cpu_op", chakra::kBool, 0);
            if (op.kind() == OpKind::kernel) {
                const KernelCall& call = program_.kernel(op);
                add_attribute(
                    node, "num_ops", chakra::kInt64, static_cast<std::uint64_t>(call.flop));
                add_attribute(
                    node, "tensor_size", chakra::kUint64, static_cast<std::uint64_t>(call.bytes));
            }
            add_attribute(node, "orrery_duration_ps", chakra::kInt64, ps);
        }
        add_attribute(node, "orrery_stream", stream);
        put(file_, node);
    }

    perfetto::Message begin_node(Position position,
                                 const Op& op,
                                 const std::set<std::uint64_t>& after) {
        const std::uint64_t id = next_id_++;
        ids_[position].push_back(id);
        const Slot& slot = role_.slots[position.first];
        std::string name = program_.names[op.name];
        if (slot.chunk >= 0) {
            name += fmt::format(", chunk {}, micro-batch {}", slot.chunk, slot.micro_batch);
        }
        perfetto::Message node;
        node.number(chakra::kId, id).bytes(chakra::kName, name);
        for (const std::uint64_t other : after) {
            node.number(chakra::kDataDeps, other);
        }
        return node;
    }

    void message(Position position,
                 const Op& op,
                 const SendRecvPart& part,
                 const std::set<std::uint64_t>& after) {
        const RankId peer = program_.peer_of(rank_, part);
        perfetto::Message node = begin_node(position, op, after);
        node.number(chakra::kType, part.is_send ? chakra::kSend : chakra::kReceive);
        add_attribute(node, "is_cpu_op", chakra::kBool, 0);
        add_attribute(
            node, "comm_size", chakra::kInt64, static_cast<std::uint64_t>(part.bytes.count()));
        const RankId from = part.is_send ? rank_ : peer;
        const RankId to = part.is_send ? peer : rank_;
        add_attribute(node, "comm_src", chakra::kInt32, index(from));
        add_attribute(node, "comm_dst", chakra::kInt32, index(to));
        add_attribute(node, "comm_tag", chakra::kInt32, part.communicator);
        put(file_, node);
    }

    // Duration of the kernel in the simulated step.
    Time duration_of(Position position) const {
        const auto found = times_.find(position);
        return found == times_.end() ? Time{} : found->second->end - found->second->data_start;
    }

    // Communicators of one group run concurrently, so each becomes a group of its own. ASTRA-sim
    // needs whole numbers as group names and reserves 0 for all ranks
    // (Workload::extract_comm_group). Numbers therefore begin with 1 and are equal on all members.
    std::string group_number(const CollectiveCall& call) {
        const Group& group = program_.groups[index(call.group)];
        const std::vector<RankId> members = program_.mesh_of(rank_).members(group, rank_);
        const std::uint64_t of_group =
            std::uint64_t{index(call.group)} * program_.num_ranks() + index(members.front());
        const std::string name =
            fmt::format("{}", 1 + of_group * communicators_ + call.communicator);
        if (members.front() == rank_ && own_groups_.insert(name).second) {
            groups_.emplace_back(name, members);
        }
        return name;
    }

    const Program& program_;
    RankId rank_;
    const Role& role_;
    ChakraGroups& groups_;
    std::string file_;
    std::map<Position, const TracedOp*> times_;
    std::map<Position, std::vector<std::uint64_t>> ids_;
    std::map<StreamId, std::vector<std::uint64_t>> last_on_stream_;
    std::set<std::string> own_groups_;
    std::uint64_t communicators_ = 1;  // largest number of communicators of a group
    std::uint64_t next_id_ = 1;
};

}  // namespace

std::string chakra_trace(const Program& program,
                         RankId rank,
                         std::span<const TracedOp> ops,
                         ChakraGroups& groups) {
    return RankWriter{program, rank, groups}.trace(ops);
}

Result<void> write_chakra(const std::filesystem::path& folder,
                          const std::string& name,
                          const Program& program,
                          std::span<const TracedOp> ops) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return fail(folder.string(), "can't be made: " + error.message(), "choose another folder");
    }
    ChakraGroups groups;
    for (std::uint32_t rank = 0; rank < program.num_ranks(); ++rank) {
        const Result<void> written = OutputFile::write(
            folder / fmt::format("{}.{}.et", name, rank),
            chakra_trace(program, RankId{rank}, ops_of_rank(ops, RankId{rank}), groups));
        if (!written) {
            return written;
        }
    }
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const auto& [group, members] : groups) {
        for (const RankId member : members) {
            json[group].push_back(index(member));
        }
    }
    return OutputFile::write(folder / chakra::kGroupsFile, json.dump(1) + "\n");
}

}  // namespace orrery
