// SPDX-License-Identifier: Apache-2.0
#include "engine/program/role_tape.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/base/check.h"
#include "engine/program/critical_path.h"

namespace orrery {

namespace {

constexpr std::uint32_t kNoOp = UINT32_MAX;

bool is_communication(OpKind kind) {
    return kind == OpKind::collective || kind == OpKind::send_recv || kind == OpKind::copy;
}

// An op of the unrolled step while its role's tape is built.
struct FlatOp {
    const Op* op = nullptr;
    StreamId stream{};
    SlotOp place;
    Time launch;
    std::uint32_t ordinal = 0;  // position in its stream
    std::uint32_t draw = 0;
    std::uint32_t first_wait = 0;
    std::uint32_t num_waits = 0;
    bool watched = false;
    bool holds_host = false;
};

struct FlatWait {
    std::uint32_t flat = 0;  // position in flat_ of the op that is waited on
    bool carried = false;
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

// Whether the host waits for the op before it launches the ops that follow it in the Program: it
// restarts with tensors that it has read.
bool holds_host(const Program& program, const Op& op) {
    return is_restart(program, op) && op.num_operands > 0;
}

class TapeBuilder {
public:
    TapeBuilder(const Program& program,
                std::span<const Time> launch_costs,
                bool in_program_order,
                const StepLoad* load)
        : program_(program),
          launch_costs_(launch_costs),
          in_program_order_(in_program_order),
          load_(load) {
        for (const Segment& segment : program.segments) {
            for (const Op& op : segment.ops) {
                tapes_.num_streams = std::max(tapes_.num_streams,
                                              static_cast<std::uint32_t>(index(stream_of(op))) + 1);
            }
        }
        ORRERY_CHECK(tapes_.num_streams <= kStreamsMax);
    }

    Tapes build() {
        for (std::uint32_t r = 0; r < program_.roles.size(); ++r) {
            const std::uint32_t party = program_.party_of(to_id<RoleId>(r));
            tape_ = RoleTape{};
            loaded_ids_.clear();
            mesh_ = &program_.parties[party].mesh;
            launch_cost_ = launch_costs_[party];
            flatten(program_.roles[r]);
            reduce_waits();
            watch_host_reads();
            cut_into_items();
            tape_.num_ops = static_cast<std::int64_t>(flat_.size());
            tapes_.roles.push_back(std::move(tape_));
        }
        return std::move(tapes_);
    }

private:
    StreamId stream_of(const Op& op) const {
        return in_program_order_ && !only_sends(program_, op) ? StreamId{} : op.stream;
    }

    // Lists all ops of the step in program order, with their launch times and waits.
    void flatten(const Role& role) {
        flat_.clear();
        waits_.clear();
        tape_.streams.resize(tapes_.num_streams);
        std::vector<std::uint32_t> slot_begin;
        std::uint32_t num_ops = 0;
        for (const Slot& slot : role.slots) {
            slot_begin.push_back(num_ops);
            num_ops += static_cast<std::uint32_t>(program_.segment_of(slot).ops.size());
        }
        std::vector<std::uint32_t> ordinal(tapes_.num_streams, 0);
        std::vector<SlotWait> slot_waits;
        last_hold_ = kNoOp;
        knows_hold_.assign(tapes_.num_streams, true);
        std::int64_t launches = 0;
        for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
            const Slot& slot = role.slots[s];
            const std::vector<Op>& ops = program_.segment_of(slot).ops;
            const std::uint32_t begin = slot_begin[s];
            slot_waits = slot.waits;
            std::ranges::stable_sort(slot_waits, {}, &SlotWait::op);
            auto wait = slot_waits.begin();
            for (std::uint32_t o = 0; o < ops.size(); ++o) {
                const Op& op = ops[o];
                launches += op.launches;
                FlatOp flat{.op = &op,
                            .stream = stream_of(op),
                            .place = {s, o},
                            .launch = launch_cost_ * launches,
                            .draw = load_ == nullptr ? 0 : load_->draw_of(slot, o),
                            .watched = holds_host(program_, op),
                            .holds_host = holds_host(program_, op)};
                flat.ordinal = ordinal[index(flat.stream)]++;
                flat.first_wait = static_cast<std::uint32_t>(waits_.size());
                wait_for_hold(flat);
                for (std::uint32_t w = 0; w < op.num_waits; ++w) {
                    waits_.push_back({.flat = begin + program_.waits[op.first_wait + w]});
                }
                for (; wait != slot_waits.end() && wait->op == o; ++wait) {
                    waits_.push_back(
                        {.flat = slot_begin[wait->slot] + wait->slot_op, .carried = wait->carried});
                }
                flat.num_waits = static_cast<std::uint32_t>(waits_.size()) - flat.first_wait;
                if (flat.holds_host) {
                    last_hold_ = static_cast<std::uint32_t>(flat_.size());
                    knows_hold_.assign(tapes_.num_streams, false);
                    knows_hold_[index(flat.stream)] = true;
                }
                flat_.push_back(flat);
            }
        }
        tape_.last_launch = launch_cost_ * launches;
        find_host_reads(role, slot_begin);
    }

    // The host launches an op only when the last op that held it has ended.
    void wait_for_hold(const FlatOp& flat) {
        const std::size_t s = index(flat.stream);
        if (!knows_hold_[s]) {
            waits_.push_back({.flat = last_hold_});
            knows_hold_[s] = true;
        }
    }

    // Finds the last op of each stream that the host waits for.
    void find_host_reads(const Role& role, const std::vector<std::uint32_t>& slot_begin) {
        host_reads_.assign(tapes_.num_streams, kNoOp);
        for (std::uint32_t f = 0; f < flat_.size() && role.host_reads.empty(); ++f) {
            host_reads_[index(flat_[f].stream)] = f;
        }
        for (const SlotOp& read : role.host_reads) {
            const std::uint32_t f = slot_begin[read.slot] + read.op;
            std::uint32_t& latest = host_reads_[index(flat_[f].stream)];
            latest = latest == kNoOp ? f : std::max(latest, f);
        }
    }

    // Keeps an op's latest wait on each other stream, unless an earlier op of the same stream
    // waited for as much. A carried wait on an op that the host has read is dropped.
    void reduce_waits() {
        const std::size_t n = tapes_.num_streams;
        // [step before, this step][stream][other]: ordinal + 1 of the last op known to have ended.
        std::vector<std::uint32_t> known[2];
        known[0].assign(n * n, 0);
        known[1].assign(n * n, 0);
        for (std::size_t s = 0; s < n; ++s) {
            const std::uint32_t read = host_reads_[s];
            for (std::size_t own = 0; own < n && read != kNoOp; ++own) {
                known[0][own * n + s] = flat_[read].ordinal + 1;
            }
        }
        std::vector<std::uint32_t> latest[2];
        for (FlatOp& flat : flat_) {
            if (flat.num_waits == 0) {
                continue;
            }
            const std::size_t own = index(flat.stream);
            latest[0].assign(n, kNoOp);
            latest[1].assign(n, kNoOp);
            for (std::uint32_t w = 0; w < flat.num_waits; ++w) {
                const FlatWait& wait = waits_[flat.first_wait + w];
                const std::size_t other = index(flat_[wait.flat].stream);
                const std::uint32_t ended = flat_[wait.flat].ordinal + 1;
                const std::size_t step = wait.carried ? 0 : 1;
                if (other != own && ended > known[step][own * n + other]) {
                    known[step][own * n + other] = ended;
                    latest[step][other] = wait.flat;
                }
            }
            std::uint32_t kept = 0;
            for (const std::size_t step : {0, 1}) {
                for (const std::uint32_t target : latest[step]) {
                    if (target != kNoOp) {
                        waits_[flat.first_wait + kept++] = {target, step == 0};
                        flat_[target].watched = true;
                    }
                }
            }
            flat.num_waits = kept;
        }
    }

    // A read op must be the last of its item, because the host waits for items.
    void watch_host_reads() {
        for (const std::uint32_t read : host_reads_) {
            if (read != kNoOp && flat_[read].ordinal + 1 < ops_on(flat_[read].stream)) {
                flat_[read].watched = true;
                tape_.overlaps_steps = true;
            }
        }
        for (const FlatOp& flat : flat_) {
            tape_.overlaps_steps = tape_.overlaps_steps || host_reads_[index(flat.stream)] == kNoOp;
        }
    }

    std::uint32_t ops_on(StreamId stream) const {
        std::uint32_t count = 0;
        for (const FlatOp& flat : flat_) {
            count += flat.stream == stream ? 1 : 0;
        }
        return count;
    }

    void cut_into_items() {
        carried_.clear();
        // number of items that have ended with this op
        std::vector<std::uint32_t> item_of(flat_.size());
        std::vector<bool> run_open(tapes_.num_streams, false);
        std::vector<RunShape> open(tapes_.num_streams);
        for (std::size_t f = 0; f < flat_.size(); ++f) {
            const FlatOp& flat = flat_[f];
            const std::size_t s = index(flat.stream);
            TapeStream& stream = tape_.streams[s];
            if (flat.op->kind() == OpKind::kernel) {
                tape_.kernel_streams |= std::uint64_t{1} << s;
            }
            const bool communication = is_communication(flat.op->kind());
            if (run_open[s] && (communication || flat.num_waits > 0)) {
                close_run(stream, open[s]);
                run_open[s] = false;
            }
            if (!run_open[s]) {
                begin_item(stream, flat, item_of);
            }
            stream.ops.push_back(flat.place);
            TapeItem& item = stream.items.back();
            ++item.num_ops;
            item_of[f] = static_cast<std::uint32_t>(stream.items.size());
            ORRERY_CHECK(static_cast<std::size_t>(flat.op->cause) < kNumOpCauses);
            if (communication) {
                add_communication(item, flat);
                item.watched = flat.watched;
                continue;
            }
            open[s].push_back({flat.op->payload,
                               flat.op->cause,
                               flat.launch - item.launch,
                               flat.draw,
                               flat.holds_host});
            item.watched = flat.watched;
            item.holds_host = flat.holds_host;
            run_open[s] = !flat.watched;
            if (flat.watched) {
                close_run(stream, open[s]);
            }
        }
        for (std::size_t s = 0; s < open.size(); ++s) {
            if (run_open[s]) {
                close_run(tape_.streams[s], open[s]);
            }
            if (host_reads_[s] != kNoOp) {
                tape_.streams[s].host_items = item_of[host_reads_[s]];
            }
        }
        for (const auto& [condition, flat] : carried_) {
            tape_.conditions[condition].items = item_of[flat];
        }
    }

    void begin_item(TapeStream& stream,
                    const FlatOp& flat,
                    const std::vector<std::uint32_t>& item_of) {
        TapeItem item{.first_op = static_cast<std::uint32_t>(stream.ops.size()),
                      .first_wait = static_cast<std::uint32_t>(tape_.conditions.size()),
                      .num_waits = flat.num_waits,
                      .launch = flat.launch};
        for (std::uint32_t w = 0; w < flat.num_waits; ++w) {
            const auto [target, carried] = waits_[flat.first_wait + w];
            if (carried) {  // the op may be later in program order
                carried_.emplace_back(tape_.conditions.size(), target);
            }
            tape_.conditions.push_back(
                {.items = item_of[target],
                 .stream = static_cast<std::uint16_t>(index(flat_[target].stream)),
                 .carried = carried});
        }
        stream.items.push_back(item);
    }

    void close_run(TapeStream& stream, RunShape& shape) {
        const auto [found, added] =
            shape_ids_.try_emplace(shape, static_cast<std::uint32_t>(tapes_.shapes.size()));
        if (added) {
            tapes_.shapes.push_back(shape);
        }
        stream.items.back().shape = found->second;
        if (std::ranges::any_of(shape, [](const RunOp& op) { return op.draw != 0; })) {
            const auto known = loaded_ids_.try_emplace(
                found->second, static_cast<std::uint32_t>(tape_.loaded.size()));
            if (known.second) {
                tape_.loaded.push_back(found->second);
            }
            stream.items.back().loaded = known.first->second;
        }
        shape.clear();
    }

    void add_communication(TapeItem& item, const FlatOp& flat) {
        const Op& op = *flat.op;
        item.cause = op.cause;
        item.first_part = static_cast<std::uint32_t>(tape_.parts.size());
        if (op.kind() == OpKind::collective) {
            item.kind = ItemKind::collective;
            const CollectiveCall& call = program_.collective(op);
            add_part(connection({.kind = ConnectionKind::group,
                                 .communicator = call.communicator,
                                 .group = call.group}),
                     call,
                     flat.stream,
                     flat.draw);
        } else if (op.kind() == OpKind::copy) {
            item.kind = ItemKind::copy;
            add_part(connection({.kind = ConnectionKind::copies}), program_.copy(op), flat.stream);
        } else {
            item.kind = ItemKind::send_recv;
            for (const SendRecvPart& part : program_.send_recv(op).parts) {
                add_part(connection(connection_of(part)),
                         SendCall{.bytes = part.bytes, .ranks = ranks_of(part)},
                         flat.stream);
            }
        }
        item.num_parts = static_cast<std::uint32_t>(tape_.parts.size()) - item.first_part;
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
                  StreamId stream,
                  std::uint32_t draw = 0) {
        RoleConnection& connection = tape_.connections[c];
        const std::uint32_t message = find_message(connection, call, draw);
        if (message == connection.num_messages()) {
            connection.calls.push_back(call);
            connection.draws.push_back(draw);
            connection.uses.push_back(0);
            connection.stream_masks.push_back(0);
        }
        ++connection.uses[message];
        connection.stream_masks[message] |= std::uint64_t{1} << index(stream);
        tape_.parts.push_back({c, message, connection.messages_per_step++});
    }

    const Program& program_;
    std::span<const Time> launch_costs_;
    bool in_program_order_;
    const StepLoad* load_;
    const Mesh* mesh_ = nullptr;  // of the current role
    Time launch_cost_;
    Tapes tapes_;
    RoleTape tape_;
    std::vector<FlatOp> flat_;
    std::vector<FlatWait> waits_;
    std::vector<std::uint32_t> host_reads_;  // by stream: position in flat_, or kNoOp
    std::uint32_t last_hold_ = kNoOp;        // position in flat_ of the last op that held the host
    std::vector<bool> knows_hold_;           // by stream: whether an op of it waits for that op
    // Position in the tape's conditions, and position in flat_ of the op that is waited on.
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
