// SPDX-License-Identifier: Apache-2.0
// Decodes the written bytes with a small protobuf reader of its own and checks what is in them.
#include "scenarios/report/trace/perfetto_trace.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace orrery {
namespace {

struct Field {
    std::uint64_t number = 0;
    std::string bytes;
};
using Fields = std::multimap<std::uint32_t, Field>;

std::uint64_t varint(const std::string& data, std::size_t& at) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = static_cast<unsigned char>(data.at(at++));
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return value;
}

Fields decode(const std::string& data) {
    Fields fields;
    for (std::size_t at = 0; at < data.size();) {
        const std::uint64_t tag = varint(data, at);
        Field field;
        field.number = varint(data, at);
        if ((tag & 7U) == 2) {
            field.bytes = data.substr(at, field.number);
            at += field.number;
        } else {
            EXPECT_EQ(tag & 7U, 0U);
        }
        fields.emplace(static_cast<std::uint32_t>(tag >> 3U), field);
    }
    return fields;
}

const Field& one(const Fields& fields, std::uint32_t number) {
    EXPECT_EQ(fields.count(number), 1U) << number;
    return fields.find(number)->second;
}

// Two ranks, one op on each of two streams.
Program small_program() {
    Program program;
    program.parties.front().mesh = Mesh{{{"tp", 2}, {"pp", 1}}};
    program.parties.front().role_digit = 1;
    program.names = {"gemm", "all_reduce"};
    program.stream_names = {"compute", "tp"};
    program.segments = {{"forward",
                         {{.payload = KernelId{0}, .stream = StreamId{0}, .name = 0},
                          {.payload = CollectiveId{0},
                           .stream = StreamId{1},
                           .cause = Cause::exposed_tensor,
                           .name = 1}}}};
    program.roles = {{"pp 0", {{.segment = SegmentId{0}, .chunk = 3, .micro_batch = 5}}}};
    return program;
}

std::vector<TracedOp> small_trace() {
    std::vector<TracedOp> trace;
    for (const std::uint32_t rank : {0U, 1U}) {
        const RankId id{rank};
        trace.push_back({.rank = id,
                         .op = 0,
                         .start = Time::picoseconds(1'500),
                         .data_start = Time::picoseconds(1'500),
                         .end = Time::picoseconds(9'999)});
        trace.push_back({.rank = id,
                         .op = 1,
                         .start = Time::picoseconds(10'000),
                         .data_start = Time::picoseconds(20'000),
                         .end = Time::picoseconds(30'000)});
    }
    return trace;
}

std::vector<Fields> packets_of(const Program& program, const std::vector<TracedOp>& trace) {
    std::ostringstream out;
    write_perfetto_trace(out, program, trace);
    std::vector<Fields> packets;
    for (const auto& [number, field] : decode(out.str())) {
        EXPECT_EQ(number, 1U);
        packets.push_back(decode(field.bytes));
    }
    return packets;
}

TEST(PerfettoTrace, HasAProcessPerRankAndAThreadPerStream) {
    std::vector<std::string> processes;
    std::vector<std::string> threads;
    for (const Fields& packet : packets_of(small_program(), small_trace())) {
        if (packet.contains(60)) {
            const Fields track = decode(one(packet, 60).bytes);
            if (track.contains(3)) {
                processes.push_back(one(decode(one(track, 3).bytes), 6).bytes);
            } else {
                threads.push_back(one(decode(one(track, 4).bytes), 5).bytes);
                EXPECT_TRUE(track.contains(5));  // its process
            }
        }
    }
    EXPECT_EQ(processes, (std::vector<std::string>{"rank 0 (pp 0)", "rank 1 (pp 0)"}));
    EXPECT_EQ(threads, (std::vector<std::string>{"compute", "tp", "compute", "tp"}));
}

TEST(PerfettoTrace, SlicesNestNameTheirOpAndKeepTheOrderOfTheirStream) {
    std::map<std::uint64_t, std::string> names;
    std::map<std::uint64_t, std::vector<std::string>> open;  // by track
    std::map<std::uint64_t, std::uint64_t> last_time;
    std::vector<std::string> begun;
    for (const Fields& packet : packets_of(small_program(), small_trace())) {
        EXPECT_EQ(one(packet, 10).number, 1U);  // the only sequence
        if (packet.contains(12)) {
            const Fields interned = decode(one(packet, 12).bytes);
            for (auto [at, end] = interned.equal_range(2); at != end; ++at) {
                const Fields entry = decode(at->second.bytes);
                names[one(entry, 1).number] = one(entry, 2).bytes;
            }
        }
        if (!packet.contains(11)) {
            continue;
        }
        const Fields event = decode(one(packet, 11).bytes);
        const std::uint64_t track = one(event, 11).number;
        const std::uint64_t time = one(packet, 8).number;
        EXPECT_GE(time, last_time[track]);
        last_time[track] = time;
        if (one(event, 9).number == 1) {
            begun.push_back(names.at(one(event, 10).number));
            open[track].push_back(begun.back());
        } else {
            ASSERT_FALSE(open[track].empty());
            open[track].pop_back();
        }
    }
    EXPECT_EQ(begun,
              (std::vector<std::string>{
                  "gemm", "all_reduce", "wait for peers", "gemm", "all_reduce", "wait for peers"}));
    for (const auto& [track, slices] : open) {
        EXPECT_TRUE(slices.empty());
    }
}

TEST(PerfettoTrace, SlicesCarryTheirChunkAndMicroBatch) {
    for (const Fields& packet : packets_of(small_program(), small_trace())) {
        if (!packet.contains(11)) {
            continue;
        }
        const Fields event = decode(one(packet, 11).bytes);
        if (event.count(4) == 0) {
            continue;
        }
        std::map<std::uint64_t, std::uint64_t> values;
        for (auto [at, end] = event.equal_range(4); at != end; ++at) {
            const Fields annotation = decode(at->second.bytes);
            values[one(annotation, 1).number] = one(annotation, 4).number;
        }
        EXPECT_EQ(values, (std::map<std::uint64_t, std::uint64_t>{{1, 0}, {2, 3}, {3, 5}}));
    }
}

TEST(PerfettoTrace, HoldsTheLastStepOnly) {
    std::vector<TracedOp> trace = small_trace();
    trace[2].step = 1;
    std::size_t ends = 0;
    for (const Fields& packet : packets_of(small_program(), trace)) {
        ends += packet.contains(11) && one(decode(one(packet, 11).bytes), 9).number == 2 ? 1 : 0;
    }
    EXPECT_EQ(ends, 1U);
}

TEST(PerfettoTrace, AnUnwritablePlaceLeavesNothingBehind) {
    const auto result = write_perfetto_trace("/nowhere/trace", small_program(), small_trace());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().to_string(),
              "/nowhere/trace: error: can't be written (hint: does the folder exist, and may you "
              "write there?)");
    const std::string file = testing::TempDir() + "/orrery.trace";
    ASSERT_TRUE(write_perfetto_trace(file, small_program(), small_trace()));
    EXPECT_GT(std::filesystem::file_size(file), 200U);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace orrery
