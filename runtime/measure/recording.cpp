// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/recording.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <fstream>
#include <map>

#include "kernels/csv_rows.h"

namespace orrery {
namespace {

const std::vector<std::string> kOpColumns{"step", "slot", "op", "begin_ns", "end_ns", "cpu_ns"};
const std::vector<std::string> kStepColumns{"step",
                                            "begin_ns",
                                            "end_ns",
                                            "loss_ns",
                                            "cpu_ns",
                                            "preemptions",
                                            "arena_bytes",
                                            "resident_bytes"};

std::filesystem::path file_of(const std::filesystem::path& folder,
                              std::uint32_t rank,
                              const char* what) {
    return folder / fmt::format("rank-{:04}.{}.csv", rank, what);
}

// The row's fields as integers; zeros, and an error, if one is not an integer.
template <std::size_t n>
std::array<std::int64_t, n> numbers(const CsvRow& row,
                                    const std::vector<std::string>& columns,
                                    Errors& errors) {
    std::array<std::int64_t, n> values{};
    for (std::size_t i = 0; i < n; ++i) {
        const auto value = parse_integer(row.fields[i]);
        if (!value) {
            errors.push_back(
                {row.where, columns[i] + " '" + row.fields[i] + "' is not a whole number", ""});
        }
        values[i] = value.value_or(0);
    }
    return values;
}

Result<void> write_text(const std::filesystem::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    return file ? Result<void>{} : fail(path.string(), "the recording can't be written");
}

void read_steps(const std::vector<CsvRow>& rows, RankRecording& recording, Errors& errors) {
    for (const CsvRow& row : rows) {
        const auto v = numbers<8>(row, kStepColumns, errors);
        const bool ordered = v[1] <= v[3] && v[3] <= v[2];
        const bool follows = recording.steps.empty() || recording.steps.back().step < v[0];
        if (!ordered || !follows || v[4] < 0 || v[5] < 0 || v[6] < 0 || v[7] < 0) {
            errors.push_back({row.where, "the step's times or numbers are out of order", ""});
            continue;
        }
        recording.steps.push_back({.step = v[0],
                                   .begin_ns = v[1],
                                   .end_ns = v[2],
                                   .loss_ns = v[3],
                                   .cpu_ns = v[4],
                                   .preemptions = v[5],
                                   .ops = {}});
        recording.arena_bytes = v[6];
        recording.resident_bytes = v[7];
    }
}

void read_ops(const std::vector<CsvRow>& rows, RankRecording& recording, Errors& errors) {
    std::map<std::int64_t, RecordedStep*> by_number;
    for (RecordedStep& step : recording.steps) {
        by_number[step.step] = &step;
    }
    for (const CsvRow& row : rows) {
        const auto v = numbers<6>(row, kOpColumns, errors);
        constexpr std::int64_t kMost = 0xFFFF'FFFF;
        const auto step = by_number.find(v[0]);
        if (step == by_number.end() || v[1] < 0 || v[1] > kMost || v[2] < 0 || v[2] > kMost ||
            v[5] < 0 || v[4] < v[3] || v[3] < step->second->begin_ns ||
            v[4] > step->second->end_ns) {
            errors.push_back({row.where, "the op lies in none of the recorded steps", ""});
            continue;
        }
        step->second->ops.push_back(
            {static_cast<std::uint32_t>(v[1]), static_cast<std::uint32_t>(v[2]), v[3], v[4], v[5]});
    }
}

}  // namespace

RankRecording recording_of(const StepRecorder& recorder,
                           std::int64_t arena_bytes,
                           std::int64_t offset_ns) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    RankRecording recording{.steps = {recorder.steps().begin(), recorder.steps().end()},
                            .arena_bytes = arena_bytes,
                            .resident_bytes = std::int64_t{usage.ru_maxrss} * 1024};
    for (RecordedStep& step : recording.steps) {
        step.begin_ns += offset_ns;
        step.end_ns += offset_ns;
        step.loss_ns += offset_ns;
        for (RecordedOp& op : step.ops) {
            op.begin_ns += offset_ns;
            op.end_ns += offset_ns;
        }
    }
    return recording;
}

Result<void> write_recording(const std::filesystem::path& folder,
                             std::uint32_t rank,
                             const RankRecording& recording) {
    std::string steps = fmt::format("{}\n", fmt::join(kStepColumns, ","));
    std::string ops = fmt::format("{}\n", fmt::join(kOpColumns, ","));
    for (const RecordedStep& step : recording.steps) {
        steps += fmt::format("{},{},{},{},{},{},{},{}\n",
                             step.step,
                             step.begin_ns,
                             step.end_ns,
                             step.loss_ns,
                             step.cpu_ns,
                             step.preemptions,
                             recording.arena_bytes,
                             recording.resident_bytes);
        for (const RecordedOp& op : step.ops) {
            fmt::format_to(std::back_inserter(ops),
                           "{},{},{},{},{},{}\n",
                           step.step,
                           op.slot,
                           op.op,
                           op.begin_ns,
                           op.end_ns,
                           op.cpu_ns);
        }
    }
    const Result<void> written = write_text(file_of(folder, rank, "ops"), ops);
    return written ? write_text(file_of(folder, rank, "steps"), steps) : written;
}

ResultOrErrors<RankRecording> read_recording(const std::filesystem::path& folder,
                                             std::uint32_t rank) {
    const auto steps = read_csv(file_of(folder, rank, "steps").string(), kStepColumns);
    const auto ops = read_csv(file_of(folder, rank, "ops").string(), kOpColumns);
    if (!steps || !ops) {
        return unexpected<Errors>(!steps ? steps.error() : ops.error());
    }
    RankRecording recording;
    Errors errors;
    read_steps(*steps, recording, errors);
    if (errors.empty()) {
        read_ops(*ops, recording, errors);
    }
    if (!errors.empty()) {
        errors.resize(std::min<std::size_t>(errors.size(), 10));
        return unexpected<Errors>(std::move(errors));
    }
    return recording;
}

}  // namespace orrery
