// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/trace/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

std::string escaped_text(std::string_view text) {
    return json_line(nlohmann::ordered_json(text));
}

std::string us(Time time) {
    const std::int64_t ps = time.picoseconds();
    return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

class Writer {
public:
    Writer(std::ostream& out, const Program& program) : out_(out), program_(program) {}

    void begin() { out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":["; }
    void end() { out_ << "\n]}\n"; }

    void rank(RankId rank) {
        const Role& role = program_.roles[index(program_.role_of(rank))];
        meta("process_name", rank, 0, fmt::format("rank {} ({})", index(rank), role.name));
        for (std::size_t s = 0; s < program_.stream_names.size(); ++s) {
            meta("thread_name", rank, s, program_.stream_names[s]);
        }
    }

    void slice(const TracedOp& traced) {
        const Role& role = program_.roles[index(program_.role_of(traced.rank))];
        const Slot& slot = role.slots[traced.slot];
        const Op& op = program_.segment_of(slot).ops[traced.op];
        event(program_.names[op.name], op, traced, traced.start, traced.end, slot);
        if (traced.data_start > traced.start) {
            event("wait for peers", op, traced, traced.start, traced.data_start, slot);
        }
    }

private:
    void next() {
        out_ << (first_ ? "\n" : ",\n");
        first_ = false;
    }

    void meta(const char* what, RankId rank, std::size_t thread, const std::string& name) {
        next();
        out_ << fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})",
                            what,
                            index(rank),
                            thread,
                            escaped_text(name));
    }

    void event(std::string_view label,
               const Op& op,
               const TracedOp& traced,
               Time from,
               Time to,
               const Slot& slot) {
        next();
        out_ << fmt::format(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
                            R"("args":{{"step":{},"chunk":{},"micro_batch":{}}}}})",
                            escaped_text(label),
                            name(op.cause),
                            index(traced.rank),
                            index(op.stream),
                            us(from),
                            us(to - from),
                            traced.step,
                            slot.chunk,
                            slot.micro_batch);
    }

    std::ostream& out_;
    const Program& program_;
    bool first_ = true;
};

}  // namespace

void write_chrome_trace(std::ostream& out,
                        const Program& program,
                        const std::vector<TracedOp>& trace) {
    std::uint32_t last = 0;
    std::set<RankId> ranks;
    for (const TracedOp& op : trace) {
        last = std::max(last, op.step);
        ranks.insert(op.rank);
    }
    Writer writer{out, program};
    writer.begin();
    for (const RankId rank : ranks) {
        writer.rank(rank);
    }
    for (const TracedOp& op : trace) {
        if (op.step == last) {
            writer.slice(op);
        }
    }
    writer.end();
}

}  // namespace orrery
