// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/trace/perfetto_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "scenarios/format/document/output_file.h"
#include "scenarios/report/trace/chrome_trace.h"
#include "scenarios/report/trace/perfetto_messages.h"

namespace orrery {
namespace {

namespace field = perfetto::field;
using perfetto::kNeedsState;
using perfetto::kSequence;
using perfetto::kSliceBegin;
using perfetto::kSliceEnd;
using perfetto::kStateCleared;

enum Annotation : std::uint64_t { kStep = 1, kChunk = 2, kMicroBatch = 3 };

class PerfettoWriter {
public:
    // `timelines` is the number per rank. The timelines of a rank have neighbouring process
    // numbers.
    PerfettoWriter(std::ostream& out, const Program& program, std::uint32_t timelines = 1)
        : out_(out), program_(program), timelines_(timelines) {}

    // Later ops belong to this timeline. `label` follows the rank's name.
    void set_timeline(std::uint32_t timeline, const std::string& label) {
        timeline_ = timeline;
        label_ = label.empty() ? "" : " " + label;
    }

    void begin() {
        perfetto::Message interned;
        for (std::size_t i = 0; i < kNumCauses; ++i) {
            add_interned(interned, field::kEventCategories, i + 1, name(static_cast<Cause>(i)));
        }
        for (std::size_t i = 0; i < program_.names.size(); ++i) {
            add_interned(interned, field::kEventNames, i + 1, program_.names[i]);
        }
        add_interned(interned, field::kEventNames, wait_iid(), "wait for peers");
        add_interned(interned, field::kAnnotationNames, kStep, "step");
        add_interned(interned, field::kAnnotationNames, kChunk, "chunk");
        add_interned(interned, field::kAnnotationNames, kMicroBatch, "micro_batch");
        perfetto::Message packet;
        packet.message(field::kInternedData, interned)
            .number(field::kSequenceId, perfetto::kSequence)
            .number(field::kSequenceFlags, kStateCleared | kNeedsState)
            .number(field::kFirstPacketOnSequence, 1);
        put(packet);
    }

    void describe_rank(RankId rank) {
        const std::uint32_t pid = pid_of(rank);
        const Role& role = program_.roles[index(program_.role_of(rank))];
        std::string label = fmt::format("rank {} ({}){}", index(rank), role.name, label_);
        perfetto::Message process;
        process.number(field::kPid, pid).bytes(field::kProcessName, label);
        perfetto::Message track;
        track.number(field::kUuid, process_uuid(rank)).message(field::kProcess, process);
        put_track(track);
        for (std::size_t s = 0; s < program_.stream_names.size(); ++s) {
            perfetto::Message thread;
            thread.number(field::kPid, pid)
                .number(field::kTid, pid * 64ULL + s + 1)
                .bytes(field::kThreadName, program_.stream_names[s]);
            perfetto::Message stream;
            stream.number(field::kUuid, stream_uuid(rank, s))
                .number(field::kParentUuid, process_uuid(rank))
                .message(field::kThread, thread);
            put_track(stream);
        }
    }

    void slice(const TracedOp& traced) {
        const Role& role = program_.roles[index(program_.role_of(traced.rank))];
        const Slot& slot = role.slots[traced.slot];
        const Op& op = program_.segment_of(slot).ops[traced.op];
        const std::uint64_t track = stream_uuid(traced.rank, index(op.stream));
        perfetto::Message event;
        event.number(field::kCategoryIids, static_cast<std::uint64_t>(op.cause) + 1)
            .number(field::kType, kSliceBegin)
            .number(field::kNameIid, op.name + 1ULL)
            .number(field::kTrackUuid, track);
        annotate(event, kStep, traced.step);
        annotate(event, kChunk, slot.chunk);
        annotate(event, kMicroBatch, slot.micro_batch);
        put_event(traced.start, event);
        if (traced.data_start > traced.start) {
            perfetto::Message wait;
            wait.number(field::kType, kSliceBegin)
                .number(field::kNameIid, wait_iid())
                .number(field::kTrackUuid, track);
            put_event(traced.start, wait);
            put_end(traced.data_start, track);
        }
        put_end(traced.end, track);
    }

private:
    std::uint32_t pid_of(RankId rank) const {
        return static_cast<std::uint32_t>(rank) * timelines_ + timeline_ + 1;
    }
    std::uint64_t process_uuid(RankId rank) const { return pid_of(rank) * 512ULL; }
    std::uint64_t stream_uuid(RankId rank, std::size_t stream) const {
        return process_uuid(rank) + 1 + stream;
    }
    std::uint64_t wait_iid() const { return program_.names.size() + 1; }

    static void add_interned(perfetto::Message& interned,
                             std::uint32_t table,
                             std::uint64_t iid,
                             std::string_view text) {
        perfetto::Message entry;
        entry.number(field::kIid, iid).bytes(field::kName, text);
        interned.message(table, entry);
    }
    static void annotate(perfetto::Message& event, Annotation what, std::int64_t value) {
        if (value < 0) {
            return;
        }
        perfetto::Message annotation;
        annotation.number(field::kAnnotationNameIid, what)
            .number(field::kAnnotationInt, static_cast<std::uint64_t>(value));
        event.message(field::kAnnotations, annotation);
    }
    void put(const perfetto::Message& packet) {
        perfetto::Message trace;
        trace.message(field::kTracePacket, packet);
        out_.write(trace.data().data(), static_cast<std::streamsize>(trace.data().size()));
    }
    void put_track(const perfetto::Message& track) {
        perfetto::Message packet;
        packet.message(field::kTrackDescriptor, track)
            .number(field::kSequenceId, perfetto::kSequence);
        put(packet);
    }
    void put_event(Time time, const perfetto::Message& event) {
        perfetto::Message packet;
        packet.number(field::kTimestamp, static_cast<std::uint64_t>(time.picoseconds()) / 1000)
            .message(field::kTrackEvent, event)
            .number(field::kSequenceId, perfetto::kSequence)
            .number(field::kSequenceFlags, kNeedsState);
        put(packet);
    }
    void put_end(Time time, std::uint64_t track) {
        perfetto::Message event;
        event.number(field::kType, kSliceEnd).number(field::kTrackUuid, track);
        put_event(time, event);
    }

    std::ostream& out_;
    const Program& program_;
    std::uint32_t timelines_;
    std::uint32_t timeline_ = 0;
    std::string label_;
};

// Writes the ops of the last step of a timeline that is ordered by (rank, start).
void put_last_step(PerfettoWriter& writer, const std::vector<TracedOp>& trace) {
    std::uint32_t last_step = 0;
    for (const TracedOp& op : trace) {
        last_step = std::max(last_step, op.step);
    }
    const TracedOp* last = nullptr;
    for (const TracedOp& op : trace) {
        if (op.step != last_step) {
            continue;
        }
        if (last == nullptr || last->rank != op.rank) {
            writer.describe_rank(op.rank);
        }
        writer.slice(op);
        last = &op;
    }
}

}  // namespace

void write_perfetto_trace(std::ostream& out,
                          const Program& program,
                          const std::vector<TracedOp>& trace) {
    PerfettoWriter writer{out, program};
    writer.begin();
    put_last_step(writer, trace);
}

void write_perfetto_traces(std::ostream& out,
                           const Program& program,
                           const std::vector<NamedTrace>& traces) {
    PerfettoWriter writer{out, program, static_cast<std::uint32_t>(traces.size())};
    writer.begin();
    for (std::size_t t = 0; t < traces.size(); ++t) {
        writer.set_timeline(static_cast<std::uint32_t>(t), traces[t].name);
        put_last_step(writer, traces[t].ops);
    }
}

Result<void> write_perfetto_traces(const std::string& file,
                                   const Program& program,
                                   const std::vector<NamedTrace>& traces) {
    return OutputFile::write(
        file, [&](std::ostream& out) { write_perfetto_traces(out, program, traces); });
}

Result<void> write_perfetto_trace(const std::string& file,
                                  const Program& program,
                                  const std::vector<TracedOp>& trace) {
    return OutputFile::write(file, [&](std::ostream& out) {
        if (file.ends_with(".json")) {
            write_chrome_trace(out, program, trace);
        } else {
            write_perfetto_trace(out, program, trace);
        }
    });
}

}  // namespace orrery
