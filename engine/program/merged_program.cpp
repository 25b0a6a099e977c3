// SPDX-License-Identifier: Apache-2.0
#include "engine/program/merged_program.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

namespace {

template <class T>
std::uint32_t size_of(const std::vector<T>& table) {
    return static_cast<std::uint32_t>(table.size());
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
}

// Appends one program to the merged one.
class Merge {
public:
    Merge(Program& out, const Program& from) : out_(out), from_(from) {
        base_party_ = size_of(out.parties);
        base_rank_ = out.parties.empty() ? 0 : out.num_ranks();
        base_role_ = size_of(out.roles);
        base_segment_ = size_of(out.segments);
        base_tensor_ = size_of(out.tensors);
        base_group_ = size_of(out.groups);
        base_wait_ = size_of(out.waits);
        base_operand_ = size_of(out.operands);
        base_name_ = size_of(out.names);
        for (const std::string& name : from.stream_names) {
            streams_.push_back(stream(name));
        }
    }

    void add(const std::string& name) {
        add_parties(name);
        add_groups();
        add_segments();
        add_roles();
        for (Operand operand : from_.operands) {
            operand.tensor = to_id<TensorId>(base_tensor_ + index(operand.tensor));
            out_.operands.push_back(operand);
        }
        for (CollectiveCall call : from_.collectives) {
            call.group = to_id<GroupId>(base_group_ + index(call.group));
            out_.collectives.push_back(call);
        }
        append(out_.tensors, from_.tensors);
        append(out_.kernels, from_.kernels);
        add_messages();
        append(out_.copies, from_.copies);
        append(out_.host_works, from_.host_works);
        append(out_.waits, from_.waits);
        append(out_.names, from_.names);
    }

private:
    StreamId stream(const std::string& name) {
        std::vector<std::string>& names = out_.stream_names;
        const auto found = std::ranges::find(names, name);
        const auto position = static_cast<std::size_t>(found - names.begin());
        if (found == names.end()) {
            names.push_back(name);
        }
        return to_id<StreamId>(position);
    }

    RankId shifted(RankId rank) const { return to_id<RankId>(base_rank_ + index(rank)); }

    void add_parties(const std::string& name) {
        for (const Party& party : from_.parties) {
            out_.parties.push_back(
                {.name = party.name.empty() ? name : name + " " + party.name,
                 .mesh =
                     Mesh{party.mesh.digits(), shifted(party.mesh.first_rank()), party.mesh.axes()},
                 .role_digit = party.role_digit,
                 .first_role = base_role_ + party.first_role,
                 .continues_job = party.continues_job});
        }
    }

    void add_groups() {
        for (Group group : from_.groups) {
            group.party += base_party_;
            for (std::vector<RankId>& ranks : group.explicit_ranks) {
                std::ranges::transform(
                    ranks, ranks.begin(), [&](RankId rank) { return shifted(rank); });
            }
            out_.groups.push_back(std::move(group));
        }
    }

    void add_messages() {
        const auto base = static_cast<std::int32_t>(out_.peers.size());
        for (SendRecvCall call : from_.send_recvs) {
            for (SendRecvPart& part : call.parts) {
                part.peers += part.peers < 0 ? 0 : base;
            }
            out_.send_recvs.push_back(std::move(call));
        }
        for (PeerMap map : from_.peers) {
            map.first = shifted(map.first);
            out_.peers.push_back(std::move(map));
        }
    }

    std::uint32_t base_payload(OpKind kind) const {
        switch (kind) {
            case OpKind::kernel:
                return size_of(out_.kernels);
            case OpKind::collective:
                return size_of(out_.collectives);
            case OpKind::send_recv:
                return size_of(out_.send_recvs);
            case OpKind::copy:
                return size_of(out_.copies);
            case OpKind::host:
                return size_of(out_.host_works);
        }
        return 0;
    }

    // Call it before the tables that ops point into grow.
    void add_segments() {
        for (Segment segment : from_.segments) {
            for (Op& op : segment.ops) {
                op.stream =
                    index(op.stream) < streams_.size() ? streams_[index(op.stream)] : op.stream;
                op.payload = {op.kind(), op.payload.number() + base_payload(op.kind())};
                op.name += base_name_;
                op.first_wait += base_wait_;
                op.first_operand += base_operand_;
            }
            out_.segments.push_back(std::move(segment));
        }
    }

    void add_roles() {
        for (Role role : from_.roles) {
            for (Slot& slot : role.slots) {
                slot.segment = to_id<SegmentId>(base_segment_ + index(slot.segment));
            }
            out_.roles.push_back(std::move(role));
        }
    }

    Program& out_;
    const Program& from_;
    std::vector<StreamId> streams_;  // merged stream by stream of `from_`
    std::uint32_t base_party_ = 0;
    std::uint32_t base_rank_ = 0;
    std::uint32_t base_role_ = 0;
    std::uint32_t base_segment_ = 0;
    std::uint32_t base_tensor_ = 0;
    std::uint32_t base_group_ = 0;
    std::uint32_t base_wait_ = 0;
    std::uint32_t base_operand_ = 0;
    std::uint32_t base_name_ = 0;
};

}  // namespace

Program merge_programs(std::span<const ProgramToMerge> programs) {
    Program out;
    out.parties.clear();
    for (const ProgramToMerge& each : programs) {
        ORRERY_CHECK(each.program != nullptr);
        Merge{out, *each.program}.add(each.name);
    }
    return out;
}

}  // namespace orrery
