// SPDX-License-Identifier: Apache-2.0
#include "engine/program/role_tape.h"

#include <unordered_map>
#include <utility>

#include "engine/base/check.h"
#include "engine/program/role_unroller.h"

namespace orrery {

namespace {

// What slots that execute a segment have in common.
struct SegmentCuts {
    // By op: index into RoleTape::parts of its parts in an earlier slot of the role `of_role`
    std::vector<std::uint32_t> first_part{};
    std::uint32_t of_role = UINT32_MAX;
    // Of runs without draws within one slot: their shapes, by first and last op
    std::unordered_map<std::uint64_t, std::uint32_t> shapes{};
};

// A run that is not closed yet.
struct OpenRun {
    bool open = false;
    bool has_draws = false;
};

struct ShapeHash {
    std::size_t operator()(const RunShape& shape) const {
        std::uint64_t h = shape.size();
        for (const RunOp& op : shape) {
            const auto key = static_cast<std::uint64_t>(op.payload.number()) << 16 ^
                             static_cast<std::uint64_t>(op.payload.kind()) << 8 ^
                             static_cast<std::uint64_t>(op.cause) ^
                             static_cast<std::uint64_t>(op.launch.picoseconds()) << 20 ^
                             static_cast<std::uint64_t>(op.draw) << 40 ^
                             static_cast<std::uint64_t>(op.holds_host) << 63;
            h = (h ^ key) * 0x9E3779B97F4A7C15ull;
            h ^= h >> 29;
        }
        return static_cast<std::size_t>(h);
    }
};

class TapeBuilder {
public:
    TapeBuilder(const Program& program,
                std::span<const Time> launch_costs,
                bool in_program_order,
                const StepLoad* load)
        : program_(program),
          launch_costs_(launch_costs),
          load_(load),
          step_(program, in_program_order),
          cuts_(program.segments.size()) {
        tapes_.num_streams = step_.num_streams;
        ORRERY_CHECK(tapes_.num_streams <= kStreamsMax);
    }

    Tapes build() {
        for (std::uint32_t r = 0; r < program_.roles.size(); ++r) {
            role_ = &program_.roles[r];
            const std::uint32_t party = program_.party_of(to_id<RoleId>(r));
            tape_ = RoleTape{};
            loaded_ids_.clear();
            mesh_ = &program_.parties[party].mesh;
            take_launch_cost(launch_costs_[party]);
            step_.unroll(*role_);
            cut_into_items(r);
            tape_.num_ops = step_.num_ops;
            tape_.last_launch = launch_cost_ * step_.num_launches;
            tape_.overlaps_steps = step_.overlaps_steps;
            tapes_.roles.push_back(std::move(tape_));
        }
        return std::move(tapes_);
    }

private:
    // The shape of a run has its launches, which depend on the cost.
    void take_launch_cost(Time cost) {
        if (cost != launch_cost_) {
            for (SegmentCuts& segment : cuts_) {
                segment.shapes.clear();
            }
        }
        launch_cost_ = cost;
    }

    const Op& op_at(SlotOp place) const {
        return program_.segment_of(role_->slots[place.slot]).ops[place.op];
    }
    SegmentCuts& cuts_of(std::uint32_t slot) { return cuts_[index(role_->slots[slot].segment)]; }
    Time launch_of(SlotOp place) const { return launch_cost_ * step_.launches_to(place); }
    std::uint32_t draw_of(SlotOp place) const {
        return load_ == nullptr ? 0 : load_->draw_of(role_->slots[place.slot], place.op);
    }

    void cut_into_items(std::uint32_t role) {
        carried_.clear();
        item_of_.resize(step_.num_ops);
        runs_.assign(tapes_.num_streams, OpenRun{});
        tape_.streams.resize(tapes_.num_streams);
        for (std::size_t s = 0; s < runs_.size(); ++s) {
            tape_.streams[s].ops.reserve(step_.ops_on[s]);
        }
        auto waiting = step_.waiting.begin();
        for (std::uint32_t s = 0; s < role_->slots.size(); ++s) {
            const std::vector<SegmentOp>& ops = step_.segment_of(s).ops;
            SegmentCuts& cuts = cuts_of(s);
            if (cuts.of_role != role) {
                cuts.of_role = role;
                cuts.first_part.assign(ops.size(), kNoOp);
            }
            for (std::uint32_t o = 0; o < ops.size(); ++o) {
                const std::uint32_t flat = step_.slot_begin[s] + o;
                const bool waits = waiting != step_.waiting.end() && waiting->flat == flat;
                add_op(ops[o], {s, o}, flat, waits ? *waiting++ : WaitingOp{});
            }
        }
        for (std::size_t s = 0; s < runs_.size(); ++s) {
            if (runs_[s].open) {
                close_run(tape_.streams[s], runs_[s]);
            }
            if (step_.host_reads[s].flat != kNoOp) {
                tape_.streams[s].host_items = item_of_[step_.host_reads[s].flat];
            }
        }
        for (const auto& [condition, flat] : carried_) {
            tape_.conditions[condition].items = item_of_[flat];
        }
    }

    void add_op(const SegmentOp& known, SlotOp place, std::uint32_t flat, const WaitingOp& waits) {
        const std::uint32_t draw = draw_of(place);
        TapeStream& stream = tape_.streams[known.stream];
        OpenRun& run = runs_[known.stream];
        if (known.is_kernel) {
            tape_.kernel_streams |= std::uint64_t{1} << known.stream;
        }
        if (run.open && (known.communicates || waits.num_waits > 0)) {
            close_run(stream, run);
        }
        if (!run.open) {
            begin_item(stream, waits, launch_of(place));
        }
        stream.ops.push_back(place);
        TapeItem& item = stream.items.back();
        ++item.num_ops;
        item_of_[flat] = static_cast<std::uint32_t>(stream.items.size());
        item.watched = step_.watched[flat];
        if (known.communicates) {
            add_communication(item, place, known.stream, draw);
            return;
        }
        item.holds_host = known.holds_host;
        run = {.open = true, .has_draws = run.has_draws || draw != 0};
        if (item.watched) {
            close_run(stream, run);
        }
    }

    void begin_item(TapeStream& stream, const WaitingOp& waits, Time launch) {
        stream.items.push_back({.first_op = static_cast<std::uint32_t>(stream.ops.size()),
                                .first_wait = static_cast<std::uint32_t>(tape_.conditions.size()),
                                .num_waits = waits.num_waits,
                                .launch = launch});
        for (std::uint32_t w = 0; w < waits.num_waits; ++w) {
            const FlatWait& wait = step_.waits[waits.first_wait + w];
            if (wait.carried) {  // the op may be later in program order
                carried_.emplace_back(tape_.conditions.size(), wait.flat);
            }
            tape_.conditions.push_back({.items = wait.carried ? 0 : item_of_[wait.flat],
                                        .stream = static_cast<std::uint16_t>(wait.stream),
                                        .carried = wait.carried});
        }
    }

    void close_run(TapeStream& stream, OpenRun& run) {
        TapeItem& item = stream.items.back();
        const std::span<const SlotOp> ops{stream.ops.data() + item.first_op, item.num_ops};
        item.shape = run.has_draws ? shape_of(ops) : shape_without_draws(ops);
        if (run.has_draws) {
            const auto known = loaded_ids_.try_emplace(
                item.shape, static_cast<std::uint32_t>(tape_.loaded.size()));
            if (known.second) {
                tape_.loaded.push_back(item.shape);
            }
            item.loaded = known.first->second;
        }
        run = {};
    }

    std::uint32_t shape_without_draws(std::span<const SlotOp> ops) {
        if (ops.front().slot != ops.back().slot) {
            return shape_of(ops);
        }
        const std::uint64_t key = std::uint64_t{ops.front().op} << 32 | ops.back().op;
        const auto [known, fresh] = cuts_of(ops.front().slot).shapes.try_emplace(key, 0);
        if (fresh) {
            known->second = shape_of(ops);
        }
        return known->second;
    }

    std::uint32_t shape_of(std::span<const SlotOp> ops) {
        const Time first = launch_of(ops.front());
        shape_.clear();
        for (const SlotOp& place : ops) {
            const Op& op = op_at(place);
            shape_.push_back({op.payload,
                              op.cause,
                              launch_of(place) - first,
                              draw_of(place),
                              step_.segment_of(place.slot).ops[place.op].holds_host});
        }
        const auto [found, added] =
            shape_ids_.try_emplace(shape_, static_cast<std::uint32_t>(tapes_.shapes.size()));
        if (added) {
            tapes_.shapes.push_back(shape_);
        }
        return found->second;
    }

    void add_communication(TapeItem& item, SlotOp place, std::uint8_t stream, std::uint32_t draw) {
        const Op& op = op_at(place);
        item.cause = op.cause;
        item.kind = op.kind() == OpKind::collective ? ItemKind::collective
                    : op.kind() == OpKind::copy     ? ItemKind::copy
                                                    : ItemKind::send_recv;
        item.first_part = static_cast<std::uint32_t>(tape_.parts.size());
        item.num_parts = op.kind() == OpKind::send_recv
                             ? static_cast<std::uint32_t>(program_.send_recv(op).parts.size())
                             : 1;
        std::uint32_t& before = cuts_of(place.slot).first_part[place.op];
        if (draw != 0 || before == kNoOp) {
            before = draw == 0 ? item.first_part : kNoOp;
            add_parts(op, stream, draw);
            return;
        }
        for (std::uint32_t p = 0; p < item.num_parts; ++p) {
            const TapePart part = tape_.parts[before + p];
            use(part.connection, part.message, stream);
        }
    }

    void add_parts(const Op& op, std::uint8_t stream, std::uint32_t draw) {
        if (op.kind() == OpKind::collective) {
            const CollectiveCall& call = program_.collective(op);
            add_part(connection({.kind = ConnectionKind::group,
                                 .communicator = call.communicator,
                                 .group = call.group}),
                     call,
                     stream,
                     draw);
        } else if (op.kind() == OpKind::copy) {
            add_part(connection({.kind = ConnectionKind::copies}), program_.copy(op), stream);
        } else {
            for (const SendRecvPart& part : program_.send_recv(op).parts) {
                add_part(connection(connection_of(part)),
                         SendCall{.bytes = part.bytes, .ranks = ranks_of(part)},
                         stream);
            }
        }
    }

    // Members of the message's communicator; between two parties it is their pair's.
    std::uint32_t ranks_of(const SendRecvPart& part) const {
        return part.peers < 0 ? mesh_->size(part.digit) : 2;
    }

    RoleConnection connection_of(const SendRecvPart& part) const {
        RoleConnection connection{.kind = ConnectionKind::pair,
                                  .is_send = part.is_send,
                                  .communicator = part.communicator,
                                  .peers = part.peers};
        if (part.peers < 0) {
            const auto size = static_cast<int>(mesh_->size(part.digit));
            connection.delta = static_cast<std::uint32_t>((part.delta % size + size) % size);
            connection.digit = connection.delta == 0 ? 0 : part.digit;
        }
        return connection;
    }

    std::uint32_t connection(const RoleConnection& wanted) {
        for (std::uint32_t c = 0; c < tape_.connections.size(); ++c) {
            const RoleConnection& have = tape_.connections[c];
            if (have.kind == wanted.kind && have.is_send == wanted.is_send &&
                have.communicator == wanted.communicator && have.group == wanted.group &&
                have.digit == wanted.digit && have.delta == wanted.delta &&
                have.peers == wanted.peers) {
                return c;
            }
        }
        tape_.connections.push_back(wanted);
        return static_cast<std::uint32_t>(tape_.connections.size() - 1);
    }

    // The index of the message with that call and draw, or the number of messages.
    static std::uint32_t find_message(const RoleConnection& connection,
                                      const TransferCall& call,
                                      std::uint32_t draw) {
        for (std::uint32_t m = 0; m < connection.num_messages(); ++m) {
            if (connection.draws[m] == draw && connection.calls[m] == call) {
                return m;
            }
        }
        return connection.num_messages();
    }

    void add_part(std::uint32_t c,
                  const TransferCall& call,
                  std::uint8_t stream,
                  std::uint32_t draw = 0) {
        RoleConnection& connection = tape_.connections[c];
        const std::uint32_t message = find_message(connection, call, draw);
        if (message == connection.num_messages()) {
            connection.calls.push_back(call);
            connection.draws.push_back(draw);
            connection.uses.push_back(0);
            connection.stream_masks.push_back(0);
        }
        use(c, message, stream);
    }

    void use(std::uint32_t c, std::uint32_t message, std::uint8_t stream) {
        RoleConnection& connection = tape_.connections[c];
        ++connection.uses[message];
        connection.stream_masks[message] |= std::uint64_t{1} << stream;
        tape_.parts.push_back({c, message, connection.messages_per_step++});
    }

    const Program& program_;
    std::span<const Time> launch_costs_;
    const StepLoad* load_;
    RoleUnroller step_;
    const Role* role_ = nullptr;
    const Mesh* mesh_ = nullptr;  // of the current role
    Time launch_cost_;
    Tapes tapes_;
    RoleTape tape_;
    std::vector<SegmentCuts> cuts_;       // by segment
    std::vector<std::uint32_t> item_of_;  // by flat op: number of items that have ended with it
    std::vector<OpenRun> runs_;           // by stream
    RunShape shape_;                      // of the run that is being closed
    // Position in the tape's conditions, and the flat op that is waited on.
    std::vector<std::pair<std::size_t, std::uint32_t>> carried_;
    std::unordered_map<RunShape, std::uint32_t, ShapeHash> shape_ids_;
    // shape to index in RoleTape::loaded
    std::unordered_map<std::uint32_t, std::uint32_t> loaded_ids_;
};

}  // namespace

Tapes build_tapes(const Program& program,
                  std::span<const Time> launch_costs,
                  bool in_program_order,
                  const StepLoad* load) {
    return TapeBuilder(program, launch_costs, in_program_order, load).build();
}

Tapes build_tapes(const Program& program, Time launch_cost, bool in_program_order) {
    const std::vector<Time> costs(program.parties.size(), launch_cost);
    return build_tapes(program, costs, in_program_order);
}

}  // namespace orrery
