// SPDX-License-Identifier: Apache-2.0
// The entries of a Program's tables that its text shows: all of them, or the entries that one role
// uses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/program/program.h"

namespace orrery {

// Marks of the shown entries. An index beyond a table's end is ignored.
class ShownEntries {
public:
    ShownEntries(const Program& program, std::optional<RoleId> role)
        : segments_(program.segments.size(), !role),
          tensors_(program.tensors.size(), !role),
          calls_{std::vector<bool>(program.kernels.size(), !role),
                 std::vector<bool>(program.collectives.size(), !role),
                 std::vector<bool>(program.send_recvs.size(), !role),
                 std::vector<bool>(program.copies.size(), !role),
                 std::vector<bool>(program.host_works.size(), !role)} {
        if (role) {
            for (const Slot& slot : program.roles[index(*role)].slots) {
                add(program, slot.segment);
            }
        }
    }

    bool segment(std::size_t s) const { return segments_[s]; }
    bool tensor(std::size_t t) const { return tensors_[t]; }
    bool call(OpKind kind, std::size_t i) const {
        return calls_[static_cast<std::size_t>(kind)][i];
    }

private:
    void add(const Program& program, SegmentId id) {
        mark(segments_, index(id));
        for (const Op& op : program.segments[index(id)].ops) {
            mark(calls_[static_cast<std::size_t>(op.kind())], op.payload.number());
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                mark(tensors_, index(program.operands[op.first_operand + i].tensor));
            }
        }
    }
    static void mark(std::vector<bool>& of, std::size_t i) {
        if (i < of.size()) {
            of[i] = true;
        }
    }

    std::vector<bool> segments_;
    std::vector<bool> tensors_;
    std::array<std::vector<bool>, kNumOpKinds> calls_;
};

}  // namespace orrery
