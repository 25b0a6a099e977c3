// SPDX-License-Identifier: Apache-2.0
// The logs of a run besides its lines: JSON, one object a line (job.log_file), and TensorBoard's
// curves (job.tensorboard_folder). If a log cannot be written, the run warns once and continues
// without it.
#pragma once

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/log/event_file.h"
#include "runtime/training_job.h"

namespace orrery {

struct ExpertLoad;
struct StepReport;

// `text` as a JSON string; bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

class TrainingLog {
public:
    using Warn = std::function<void(const std::string&)>;
    // Error::where is the path that cannot be written. An existing log file is appended to.
    static Result<TrainingLog> open(const TrainingJob& job, Warn warn);

    void step(const StepReport& mean);
    void experts(std::int64_t step, const std::vector<ExpertLoad>& loads);
    void validation(std::int64_t step, double loss);
    void sample(std::int64_t step, std::string_view prompt, std::string_view text);

private:
    void write_line(const std::string& line);
    void write_scalars(std::int64_t step, std::span<const ScalarEvent> values);

    Warn warn_;
    std::string path_;
    std::optional<std::ofstream> file_;
    std::optional<EventFile> events_;
};

}  // namespace orrery
